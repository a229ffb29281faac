"""What every method of the registry promises, ours, baselines and peers alike."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import deepnoise
from deepnoise.baselines.registry import METHODS, make, method
from deepnoise.inference.model_folder import ModelFileError
from deepnoise.prediction import metrics
from deepnoise.prediction.density.mixture import PredictiveMixture

from .methods import CASES, NO_DENSITY, TINY, USABLE, line, only_fast, tiny
from .toy import SHUFFLED

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def fitted():
    """Fits on the line, each made once."""
    made = {}

    def fit(name):
        if name not in made:
            made[name] = tiny(name).fit(*line())
        return made[name]

    return fit


@pytest.mark.parametrize("name", CASES)
def test_it_learns_and_covers(name, fitted):
    x, y = line(seed=1)
    model = fitted(name)
    report = model.score_report(x, y)
    assert report["rmse"] < 0.5 * y.std(), "no better than predicting the mean"
    assert report["rmse"] < 0.75, "the noise has sd 0.5"
    # CRPS of N(0, 0.5²) at its own draws is 0.5/√π = 0.28.
    assert report["crps"] < 0.42
    # What others cover is not ours to promise, and MC dropout keeps no such promise: 77 to 93 %.
    if METHODS[name].package is None and name != "dmc":
        assert 0.82 <= report["coverage_90"] <= 0.985
    ends = model.predict_interval(x, 0.9)
    assert np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) == report["coverage_90"]


@pytest.mark.parametrize("name", CASES)
def test_recalibration_on_new_rows(name, fitted, tmp_path):
    x, y = line(seed=2)
    model, wide = copy.copy(fitted(name)), 3 * y
    if name in NO_DENSITY:
        with pytest.raises(NotImplementedError, match="predict_quantiles"):
            model.recalibrate(x, wide)
        return
    before = metrics.nll(model.predict_density(x), wide)
    model.recalibrate(x, wide)
    assert model.stretch_ > 1
    assert metrics.nll(model.predict_density(x), wide) < before
    learnt = model.stretch_
    with pytest.raises(ValueError):
        model.recalibrate(x[:, :0], wide)
    assert model.stretch_ == learnt
    assert fitted(name).stretch_ == 1
    if hasattr(model, "save"):
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(
            deepnoise.load(tmp_path / "model").predict_quantiles(x[:3]),
            model.predict_quantiles(x[:3]),
        )


@pytest.mark.parametrize("name", CASES)
def test_answers_agree(name, fitted):
    x, y = line(seed=1)
    model = fitted(name)
    quantiles = model.predict_quantiles(x)
    assert quantiles.shape == (256, 3)
    assert (np.diff(quantiles, axis=1) > 0).all()
    assert np.allclose(model.predict_interval(x, 0.9), quantiles[:, [0, 2]])
    if name in NO_DENSITY:
        for ask in (model.predict_density, model.sample):
            with pytest.raises(NotImplementedError, match="predict_quantiles"):
                ask(x)
        return
    density = model.predict_density(x)
    assert isinstance(density, PredictiveMixture)
    assert np.allclose(model.predict(x), density.mean())
    assert np.isclose(model.score_report(x, y)["nll"], metrics.nll(density, y))


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_rows_does_not_matter(name, fitted):
    x, _ = line(seed=1)
    model = fitted(name)
    order = np.random.default_rng(0).permutation(256)
    whole = model.predict_quantiles(x)
    assert np.allclose(model.predict_quantiles(x[order]), whole[order], rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_seed_decides_everything(name, fitted):
    x, _ = line(seed=1)
    first = fitted(name)
    again = clone(first)
    assert not hasattr(again, "seed_")
    assert np.array_equal(again.fit(*line()).predict(x), first.predict(x))
    if METHODS[name].package is None:
        other = clone(first).set_params(random_state=1).fit(*line())
        assert not np.array_equal(other.predict(x), first.predict(x))


@pytest.mark.parametrize("name", CASES)
def test_columns_are_known_by_name(name):
    x, y = line()
    frame = pd.DataFrame(x, columns=["a", "b"])
    model = tiny(name).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert np.array_equal(model.predict(frame[["b", "a"]]), model.predict(frame))
    with pytest.raises(ValueError, match="'b'"):
        model.predict(frame[["a"]])


@pytest.mark.parametrize("name", only_fast("de", "cqr", "gp"))
def test_two_outcomes_or_a_clear_refusal(name):
    x, y = line()
    both = np.c_[y, -2 * y]
    model = tiny(name)
    if not model.__sklearn_tags__().target_tags.multi_output:
        with pytest.raises(ValueError, match="one outcome"):
            model.fit(x, both)
        return
    model.fit(x, both)
    assert model.predict(x).shape == (256, 2)
    assert model.predict_interval(x).shape == (256, 2, 2)
    error = np.sqrt(np.mean((model.predict(x) - both) ** 2, axis=0)) / both.std(axis=0)
    assert (error < 0.5).all()


@pytest.mark.parametrize("name", CASES)
def test_save_and_load(name, fitted, tmp_path):
    x, _ = line(seed=1)
    model = fitted(name)
    if METHODS[name].package is not None:
        assert not hasattr(model, "save")
        return
    model.save(tmp_path / "m")
    back = deepnoise.load(tmp_path / "m")
    assert type(back) is type(model)
    assert np.array_equal(back.predict_quantiles(x), model.predict_quantiles(x))
    assert back.get_params() == model.get_params()
    model.save(tmp_path / "m")
    files = sorted(path.suffix for path in (tmp_path / "m").iterdir())
    assert set(files) == {".json", ".safetensors"}


def test_a_folder_of_other_weights_is_refused(tmp_path, fitted):
    model = clone(fitted("de"))
    model.__dict__.update(fitted("de").__dict__)
    model.weights_ = {**model.weights_, "w1": model.weights_["w1"][..., :3]}
    model.save(tmp_path)
    with pytest.raises(ModelFileError, match="no estimator"):
        deepnoise.load(tmp_path)


@pytest.mark.parametrize("name", ["bp", "de", "dmc", "vi", "bnn", "mdn", "cqr", "deepnoise"])
def test_settings_that_make_no_sense_are_named(name):
    x, y = line(20)
    wrong = {"hidden": (0,), "activation": "wavy", "steps": 0, "validation": 1.0, "members": 0}
    wrong |= {"rates": (), "passes": 0, "draws": 0, "leaps": -1, "components": 0}
    wrong |= {"calibration": 1.2, "adversarial": -1, "chains": 2.5, "paths": 0, "warmup": "many"}
    known = make(name).get_params()
    for argument, value in wrong.items():
        if argument in known:
            with pytest.raises(ValueError, match=argument):
                tiny(name, **{argument: value}).fit(x, y)


def checked():
    """Smallest settings."""
    small = {"hidden": (2,), "steps": 800}
    given = {"members": 1, "passes": 5, "rates": (0.01,), "warmup": 10, "leaps": 3, "chains": 2}
    given |= {"paths": 5, "components": 2}
    for name in USABLE:
        if METHODS[name].package is None and name != "bdeepnoise":  # it has a file of its own
            known = make(name).get_params()
            use = {k: v for k, v in {**given, **small}.items() if k in known}
            use |= {"draws": 10} if "draws" in known else {}
            yield name, make(name, **use, random_state=0)


def own_checks():
    for name, estimator in checked():
        for each, check in estimator_checks_generator(estimator, mark="xfail"):
            shuffled = SHUFFLED.get(check_name(check))
            marks = [pytest.mark.xfail(reason=shuffled)] if shuffled else []
            yield pytest.param(each, check, id=f"{name}-{check_name(check)}", marks=marks)


def check_name(check):
    return getattr(check, "func", check).__name__


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(own_checks()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_method_by_its_name():
    assert set(TINY) >= set(USABLE)
    with pytest.raises(ValueError, match=r"unknown method 'nothing'.*bdeepnoise"):
        method("nothing")
    assert type(make("de", members=3)) is deepnoise.DeepEnsembleRegressor
