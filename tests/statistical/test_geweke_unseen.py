"""Both kernels leave the posterior invariant where data are censored, classes or missing."""

import pytest

from deepnoise.inference import unseen
from deepnoise.inference.runtime import numerics
from deepnoise.model import covariates, outcome

from ..oracle import ACTIVATIONS
from .geweke import Net, Size, gibbs_kernel, interweaved_kernel
from .geweke_unseen import Blind, drift

h = ACTIVATIONS["hard_tanh"]
KERNELS = {"gibbs": gibbs_kernel, "interweaved": interweaved_kernel}
CASES = {
    "window": Blind(Net(h, (2, 2, 1), N=4), "window"),
    "gaps": Blind(Net(h, (2, 2, 2), N=4), "gaps"),
    "windows of two": Blind(Net(h, (2, 2, 2), N=4), "window"),
    "levels": Blind(Net(h, (2, 2, 1), N=4), "levels"),
    "logit": Blind(Net(h, (2, 2, 1), N=4), "logit"),
    "choice": Blind(Net(h, (2, 2, 3), N=4), "choice"),
    "softmax": Blind(Net(h, (2, 2, 3), N=4), "softmax"),
    "missing": Blind(Net(h, (2, 2, 1), N=4), missing=True),
    "missing, no layer": Blind(Net(h, (2, 2), N=4), "window", missing=True),
    "missing and window": Blind(Net(h, (2, 2, 2, 1), N=4), "window", missing=True),
}
LARGE = Size(14, 12_000)


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param("gibbs", marks=pytest.mark.long),
        pytest.param("interweaved", marks=pytest.mark.slow),
    ],
)
def test_kernels_are_right_at_large(kernel, case, key):
    assert not drift(key, KERNELS[kernel](h), CASES[case], LARGE)


def loose_window(monkeypatch):
    """y may leave its window by a little."""
    right = outcome.bounds
    monkeypatch.setattr(
        outcome, "bounds", lambda seen, y, k: tuple(e + 0.3 for e in right(seen, y, k))
    )


def blind_inputs(monkeypatch):
    """Missing inputs drawn without regard to the network."""
    right = covariates.x_given
    monkeypatch.setattr(covariates, "x_given", lambda x, mask, law, *_: right(x, mask, law))


def rows_forgotten(monkeypatch):
    """The input law drawn as if there were one row less."""
    right = unseen.inputs_given
    monkeypatch.setattr(unseen, "inputs_given", lambda x, prior: right(x[1:], prior))


def flat_cuts(monkeypatch):
    """Cut points moved without their prior."""
    monkeypatch.setattr(unseen, "CUT_MEDIAN", 5.0)


MUTANTS = {
    "window": loose_window,
    "missing": blind_inputs,
    "missing, no layer": rows_forgotten,
    "levels": flat_cuts,
}


@pytest.mark.slow
@pytest.mark.parametrize("case", MUTANTS)
def test_a_wrong_kernel_is_caught(case, key, monkeypatch):
    MUTANTS[case](monkeypatch)
    assert drift(key, gibbs_kernel(h), CASES[case], LARGE)
