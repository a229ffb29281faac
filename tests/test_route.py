"""The two routes of docs/contributing/architecture.md, traced.

A route is the frames of our own source on the stack; what is called on the way and has returned,
such as the encoder of the table, is no part of it.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import deepnoise
from deepnoise.estimators import predictive
from deepnoise.inference import gibbs
from deepnoise.prediction import predict
from deepnoise.prediction.density import mixture

from .estimators.toy import small

SOURCE = Path(deepnoise.__file__).parent
MOST_FRAMES, MOST_FILES, MOST_FILES_TO_A_QUANTILE = 8, 10, 6
X = np.linspace(-1, 1, 30)[:, None]
Y = np.sin(X[:, 0])

Route = list[tuple[str, str]]


def route_to(function) -> Route:
    """File and name of every function of deepnoise on the stack, and of the one to be called."""
    found = [function.__code__]
    frame = sys._getframe(2)
    while frame is not None:
        found.append(frame.f_code)
        frame = frame.f_back
    paths = [(Path(code.co_filename), code.co_name) for code in reversed(found)]
    return [(str(p.relative_to(SOURCE)), name) for p, name in paths if SOURCE in p.parents]


@pytest.fixture
def routes_to(monkeypatch):
    """Makes a list to which every call of a module's function adds its route."""

    def watched(module, name: str) -> list[Route]:
        found, function = [], getattr(module, name)

        def recorded(*args, **kwargs):
            found.append(route_to(function))
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, recorded)
        return found

    return watched


@pytest.mark.parametrize("sampler", ["gibbs", "interweaved"])
def test_from_fit_to_a_sweep(sampler, routes_to):
    found = routes_to(gibbs, "sweep")
    # A size that no other test has compiled, for then it would not be traced again.
    small(hidden=(7,), warmup=2, draws=2, sampler=sampler).fit(X, Y)
    assert found
    for route in found:
        assert route[0] == ("estimators/bdeepnoise.py", "fit")
        assert route[-1] == ("inference/gibbs.py", "sweep")
        assert len(route) <= MOST_FRAMES, route
        assert len({file for file, _ in route}) <= MOST_FILES, route


def test_from_a_row_to_a_quantile(routes_to):
    model = small().fit(X, Y)
    watched = (predictive, "predictive"), (predict, "padded"), (mixture, "quantile")
    found = [routes_to(*function) for function in watched]
    model.predict_density(X).quantile(0.5)
    made, simulated, solved = (routes[-1] for routes in found)
    assert made[0] == ("estimators/base.py", "predict_density")
    assert ("prediction/predict.py", "read") in simulated
    assert solved[-1] == ("prediction/density/quantile.py", "quantile")
    # The last frame of ``simulated`` is a helper, called here only to be seen.
    files = {file for route in (made, simulated[:-1], solved) for file, _ in route}
    assert len(files) <= MOST_FILES_TO_A_QUANTILE, files
