"""Tables of every kind become the same numbers, or say in one line why not."""

import json

import numpy as np
import pytest

from deepnoise.estimators.encode import MAX_LEVELS, TableEncoder

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = {
    "size": [1.5, 2.0, -1.0],
    "count": [1, 2, 3],
    "sold": [True, False, True],
    "colour": ["red", "blue", "red"],
}
NUMBERS = np.array([[1.5, 1, 1, 0, 1], [2, 2, 0, 1, 0], [-1, 3, 1, 0, 1]])
NAMES = ("size", "count", "sold", "colour=blue", "colour=red")
frames = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


@frames
def test_frames_become_numbers(frame):
    encoder = TableEncoder.learn(frame(COLUMNS))
    assert encoder.feature_names == NAMES
    encoded = encoder.encode(frame(COLUMNS))
    assert encoded.dtype == np.float64
    assert np.array_equal(encoded, NUMBERS)


@frames
def test_columns_are_matched_by_name(frame):
    encoder = TableEncoder.learn(frame(COLUMNS))
    shuffled = frame({name: COLUMNS[name] for name in ("colour", "count", "size", "sold")})
    assert np.array_equal(encoder.encode(shuffled), NUMBERS)


def test_polars_after_pandas():
    encoder = TableEncoder.learn(pd.DataFrame(COLUMNS))
    assert np.array_equal(encoder.encode(pl.DataFrame(COLUMNS)), NUMBERS)


@frames
def test_json_round_trip(frame):
    encoder = TableEncoder.learn(frame(COLUMNS))
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder
    assert np.array_equal(again.encode(frame(COLUMNS)), NUMBERS)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["red", "blue", "red"], dtype="category"),
        pd.Series(["red", "blue", "red"], dtype=object),
        pd.Series(["red", "blue", "red"], dtype="string"),
        pl.Series(["red", "blue", "red"], dtype=pl.Categorical),
        pl.Series(["red", "blue", "red"], dtype=pl.Enum(["red", "blue", "green"])),
    ],
    ids=lambda s: str(s.dtype),
)
def test_kinds_of_categories(values):
    table = (pl if isinstance(values, pl.Series) else pd).DataFrame({"colour": values})
    assert TableEncoder.learn(table).columns[0].levels == ("blue", "red")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="float32"),
        pd.Series([1, 2, 3], dtype=object),
        pd.Series([True, False, True], dtype="boolean"),
        pd.Series([True, False, True], dtype=object),
        pl.Series([1, 2, 3], dtype=pl.UInt8),
        pl.Series([True, False, True]),
    ],
    ids=lambda s: f"{type(s).__module__.split('.')[0]}-{s.dtype}",
)
def test_kinds_of_numbers(values):
    table = (pl if isinstance(values, pl.Series) else pd).DataFrame({"n": values})
    encoder = TableEncoder.learn(table)
    assert encoder.columns[0].levels is None
    assert np.array_equal(encoder.encode(table)[:, 0], np.asarray(values.to_numpy(), float))


def test_whole_floats_and_integers_are_the_same_level():
    encoder = TableEncoder.learn(pd.DataFrame({"k": pd.Series([1, 2], dtype="category")}))
    assert np.array_equal(encoder.encode(pd.DataFrame({"k": [2.0, 1.0]})), [[0, 1], [1, 0]])


def test_arrays_and_unnamed_columns_go_by_position():
    x = np.arange(6.0).reshape(3, 2)
    encoder = TableEncoder.learn(x)
    assert encoder.feature_names == ("x0", "x1")
    assert np.array_equal(encoder.encode(x), x)
    unnamed = TableEncoder.learn(pd.DataFrame(x))
    assert unnamed == encoder
    assert np.array_equal(unnamed.encode(pd.DataFrame(x, columns=["b", "a"])), x)


def _changed(**columns):
    return {**COLUMNS, **columns}


@frames
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"size": [1.0]}, "missing: 'count', 'sold', 'colour'"),
        (_changed(extra=[0, 0, 0]), "not seen when fitting: 'extra'"),
        (_changed(colour=["red", "green", "red"]), "column 'colour', row 1 holds 'green'"),
        (_changed(colour=["red", None, "red"]), "'colour', row 1 is NaN: missing values are not"),
        (_changed(size=[1.0, 2.0, np.nan]), "'size', row 2 is NaN: missing values are not"),
        (_changed(size=[1.0, np.inf, 2.0]), "'size', row 1 is infinite"),
        (_changed(count=[1, None, 2]), "'count', row 1 is NaN"),
        (_changed(sold=[True, None, False]), "'sold', row 1 is NaN"),
        (_changed(size=["1", "2", "tall"]), "column 'size', row 2 holds 'tall', not a number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_rows_are_named(frame, columns, message):
    encoder = TableEncoder.learn(frame(COLUMNS))
    with pytest.raises(ValueError, match=message) as raised:
        encoder.encode(frame(columns))
    assert "\n" not in str(raised.value)


@frames
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2", "3", "many"], "row 3 holds 'many' where most rows hold numbers"),
        (np.array(["2020-01-01"] * 4, dtype="datetime64[ms]"), "'a' holds times"),
        (["x", None, "y", "z"], "row 1 is NaN"),
    ],
)
def test_bad_training_columns(frame, values, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder.learn(frame({"a": values}))


def test_complex_training_column():
    with pytest.raises(ValueError, match="Complex data not supported"):
        TableEncoder.learn(pd.DataFrame({"a": [1j, 2]}))


def test_a_column_of_names_is_no_category():
    table = pd.DataFrame({"id": [f"name{i}" for i in range(MAX_LEVELS + 1)]})
    with pytest.raises(ValueError, match="'id' has 1001 different values"):
        TableEncoder.learn(table)


def test_twice_the_same_name():
    with pytest.raises(ValueError, match="these occur twice: 'a'"):
        TableEncoder.learn(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="must have different names"):
        TableEncoder.learn(pd.DataFrame({"a": [1]})).encode(
            pd.DataFrame([[1, 2]], columns=["a", "a"])
        )


def test_array_where_categories_were():
    with pytest.raises(ValueError, match=r"must be a pandas or polars frame.*'colour'"):
        TableEncoder.learn(pd.DataFrame(COLUMNS)).encode(np.zeros((2, 4)))


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match="must have 2 columns; got 3"):
        TableEncoder.learn(np.zeros((2, 2))).encode(np.zeros((2, 3)))


@frames
def test_missing_and_unseen_become_nan(frame):
    """In all columns of a category; one warning names what is new."""
    encoder = TableEncoder.learn(frame({**COLUMNS, "town": ["a", "b", "a"]}))
    table = frame(
        {
            "size": [1.5, None, -1.0],
            "count": [None, 2, 3],
            "sold": [True, None, True],
            "colour": ["green", None, "red"],
            "town": ["c", "a", "d"],
        }
    )
    expected = "taken as missing: 'green' in column 'colour'; 'c', 'd' in column 'town'"
    with pytest.warns(UserWarning, match=expected) as warned:
        encoded = encoder.encode(table, missing="nan")
    assert len(warned) == 1
    nan = np.nan
    assert np.array_equal(
        encoded,
        [
            [1.5, nan, 1, nan, nan, nan, nan],
            [nan, 2, nan, nan, nan, 1, 0],
            [-1, 3, 1, 0, 1, nan, nan],
        ],
        equal_nan=True,
    )


@frames
def test_nothing_missing_changes_nothing(frame):
    encoder = TableEncoder.learn(frame(COLUMNS), missing="nan")
    assert encoder == TableEncoder.learn(frame(COLUMNS))
    assert np.array_equal(encoder.encode(frame(COLUMNS), missing="nan"), NUMBERS)
    x = np.array([[1.0, np.nan]])
    found = TableEncoder.learn(x).encode(x, missing="nan")
    assert np.array_equal(found, x, equal_nan=True)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["red", None, "blue"], dtype="category"),
        pd.Series(["red", None, "blue"], dtype="string"),
        pd.Series(["red", np.nan, "blue"], dtype=object),
        pl.Series(["red", None, "blue"], dtype=pl.Categorical),
    ],
    ids=lambda s: str(s.dtype),
)
def test_levels_are_learned_from_what_is_there(values):
    table = (pl if isinstance(values, pl.Series) else pd).DataFrame({"colour": values})
    encoder = TableEncoder.learn(table, missing="nan")
    assert encoder.columns[0].levels == ("blue", "red")
    encoded = encoder.encode(table, missing="nan")
    assert np.array_equal(encoded, [[0, 1], [np.nan, np.nan], [1, 0]], equal_nan=True)


def test_numbers_kept_as_objects_may_be_missing():
    table = pd.DataFrame({"n": pd.Series([1, None, 3], dtype=object)})
    encoded = TableEncoder.learn(table, missing="nan").encode(table, missing="nan")
    assert np.array_equal(encoded[:, 0], [1, np.nan, 3], equal_nan=True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (_changed(size=[1.0, np.inf, None]), "'size', row 1 is infinite"),
        (_changed(size=["1", None, "tall"]), "column 'size', row 2 holds 'tall', not a number"),
    ],
)
def test_what_stays_an_error_beside_missing_values(columns, message):
    encoder = TableEncoder.learn(pd.DataFrame(COLUMNS))
    with pytest.raises(ValueError, match=message):
        encoder.encode(pd.DataFrame(columns), missing="nan")


def test_training_columns_that_stay_errors_beside_missing_values():
    slip = pd.DataFrame({"a": ["1", None, "3", "4", "many"]})
    with pytest.raises(ValueError, match="row 4 holds 'many' where most rows hold numbers"):
        TableEncoder.learn(slip, missing="nan")
    empty = pd.DataFrame({"a": pd.Series([None, None], dtype="category")})
    with pytest.raises(ValueError, match="every value of column 'a' is missing; drop it"):
        TableEncoder.learn(empty, missing="nan")
