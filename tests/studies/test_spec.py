"""Specs: shipped ones, their smoke twins, and what is wrong with others."""

from importlib import import_module

import pytest

from deepnoise.baselines.registry import METHODS
from deepnoise.studies.spec import STUDIES, Case, Spec, checked, read_spec


@pytest.mark.parametrize("study", STUDIES)
def test_every_shipped_spec_has_a_smoke_twin_of_known_settings(study):
    for name in (study, f"{study}-smoke"):
        spec = read_spec(name)
        assert spec.study == study
        for method, settings in spec.settings.items():
            where = METHODS[method]
            estimator = getattr(import_module(where.module), where.estimator)(**settings)
            assert estimator.get_params().items() >= settings.items()


def test_the_papers_protocol():
    spec = read_spec("synthetic")
    assert spec.set_names()[:2] == ("heteroscedastic-1000", "heteroscedastic-2000")
    assert len(spec.set_names()) == 9
    assert spec.splits == read_spec("uci").splits == 20
    assert read_spec("uci").settings_of("bdeepnoise")["hidden"] == (50, 50)


def test_cases_go_split_by_split_and_stop_where_a_set_does():
    spec = Spec("uci", ("bp", "de"), ("wine", "protein"), 3, seeds=(7,))
    cases = spec.cases({"wine": 20, "protein": 2})
    assert len(cases) == 2 * (3 + 2)
    assert cases[:3] == [
        Case("bp", "wine", 0, 7),
        Case("de", "wine", 0, 7),
        Case("bp", "wine", 1, 7),
    ]
    assert len({case.random_state for case in cases}) == 3


def test_the_hash_tells_settings_apart_and_nothing_else():
    spec = Spec("uci", ("bp",), ("wine",), 3, settings={"bp": {"steps": 5, "hidden": (2,)}})
    same = Spec("uci", ("de", "bp"), ("yacht",), 1, settings={"bp": {"hidden": (2,), "steps": 5}})
    other = Spec("uci", ("bp",), ("wine",), 3, settings={"bp": {"steps": 6, "hidden": (2,)}})
    assert spec.settings_hash("bp") == same.settings_hash("bp") != other.settings_hash("bp")
    assert spec.settings_hash("bp") != spec.settings_hash("de")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'study = "uci"\nmethods = ["magic"]\nsets = ["wine"]\nsplits = 1',
            "unknown method 'magic'",
        ),
        ('study = "uci"\nmethods = ["bp"]\nsets = ["skewed"]\nsplits = 1', "unknown 'skewed'"),
        ('study = "uci"\nmethods = ["bp"]\nsets = ["wine"]\nsplits = 0', "at least one"),
        ('study = "synthetic"\nmethods = ["bp"]\nsets = ["skewed"]\nsplits = 1', "sizes"),
        ('study = "other"\nmethods = ["bp"]\nsets = ["wine"]\nsplits = 1', "study must be"),
        ('study = "uci"\nsplit = 1', "unknown keys split"),
        ('study = "uci"', "missing"),
        ("study = ", "own.toml"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said(tmp_path, text, message):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_spec(tmp_path / "own.toml")


@pytest.mark.parametrize("sizes", ["[9, 0]", "[1.5]", "[true]", "1000", "[]"])
def test_sizes_are_whole_numbers(tmp_path, sizes):
    text = f'study = "synthetic"\nmethods = ["bp"]\nsets = ["skewed"]\nsplits = 1\nsizes = {sizes}'
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ValueError, match="numbers of rows such as"):
        read_spec(tmp_path / "own.toml")


def test_a_part_of_a_spec():
    spec = read_spec("uci").only(methods=("bp",), sets=None, splits=2)
    assert (spec.methods, spec.splits) == (("bp",), 2)
    assert spec.sets == read_spec("uci").sets
    assert checked(spec) is spec
    with pytest.raises(ValueError, match="no spec 'nothing'"):
        read_spec("nothing")
