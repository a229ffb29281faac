"""Both kernels leave the posterior invariant: Geweke's joint-distribution test."""

import itertools

import pytest

from deepnoise.inference.runtime import numerics

from ..oracle import ACTIVATIONS
from .geweke import LARGE, Net, drift, gibbs_kernel, interweaved_kernel

KERNELS = {
    "gibbs": gibbs_kernel,
    "two rows a sweep": lambda h: gibbs_kernel(h, rows=2),
    "interweaved": interweaved_kernel,
}
WIDTHS = {"L0": (2, 2), "L1": (2, 2, 1), "L2": (1, 2, 3, 2)}
ACCEPTANCE = 0.1


@pytest.fixture(autouse=True)
def precision():
    with numerics():
        yield


@pytest.mark.parametrize(
    ("kernel", "widths", "h"),
    [
        ("gibbs", "L1", "hard_tanh"),
        ("interweaved", "L2", "jumps"),
    ],
)
def test_kernels_are_right(kernel, widths, h, key):
    h = ACTIVATIONS[h]
    assert not drift(key, KERNELS[kernel](h), Net(h, WIDTHS[widths]), least_acceptance=ACCEPTANCE)


def combinations():
    """Every kernel, depth and activation; nine in which each pair meets are slow, the rest long."""
    shapes = ("hard_tanh", "jumps", "tanh")
    for k, l, s in itertools.product(range(3), repeat=3):
        mark = pytest.mark.slow if (k + l + s) % 3 == 0 else pytest.mark.long
        yield pytest.param([*KERNELS][k], [*WIDTHS][l], shapes[s], marks=mark)


@pytest.mark.parametrize(("kernel", "widths", "h"), list(combinations()))
def test_kernels_are_right_at_large(kernel, widths, h, key):
    h = ACTIVATIONS[h]
    net = Net(h, WIDTHS[widths], N=4)
    assert not drift(key, KERNELS[kernel](h), net, LARGE, ACCEPTANCE)
