"""Every method of the registry at a size that fits in a second."""

import numpy as np
import pytest

from deepnoise.baselines.registry import METHODS, make

SMALL = {"hidden": (8,), "steps": 1500}
TINY = {
    "bdeepnoise": {
        "hidden": (4,), "chains": 2, "warmup": 60, "draws": 20, "paths": 4, "progress": False,
    },
    "deepnoise": {"hidden": (8,), "members": 4, "steps": 1500, "paths": 20},
    "bp": SMALL,
    "de": SMALL | {"members": 2},
    "dmc": SMALL | {"rates": (0.01, 0.05), "passes": 20},
    "vi": SMALL | {"draws": 20},
    "bnn": SMALL | {"chains": 2, "warmup": 60, "draws": 20, "leaps": 5},
    "mdn": SMALL | {"components": 2},
    "cqr": SMALL,
    "ngboost": {"estimators": 1000},
    "bart": {"draws": 200, "burnin": 200},
    "forest": {"trees": 50},
    "gp": {"restarts": 0},
    "numpyro": {"hidden": (4,), "chains": 1, "warmup": 60, "draws": 20, "depth": 4},
    "bde": {"members": 2, "hidden": (4,), "warmup": 1000, "draws": 20},
}  # fmt: skip
# Methods that answer with quantiles only.
NO_DENSITY = {"cqr", "forest"}
USABLE = [name for name in METHODS if METHODS[name].missing is None]


def only_fast(*names):
    """All usable methods, those not named in the slow tier."""
    return [
        name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in USABLE
    ]


# The sampler takes longest to compile, and has tests of its own.
CASES = only_fast(*(name for name in USABLE if name != "bdeepnoise"))


def tiny(name, **settings):
    return make(name, **{**TINY[name], "random_state": 0, **settings})


def line(n: int = 256, seed: int = 0):
    """y is a line in the first of two features, with Gaussian noise of sd 0.5."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    return x, 10 + 3 * x[:, 0] + 0.5 * rng.normal(size=n)
