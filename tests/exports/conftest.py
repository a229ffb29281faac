"""Two fitted toys: of named columns with a category, and of an array with skewed features."""

import numpy as np
import pandas as pd
import pytest

from tests.estimators.toy import PLAIN, sloped, small


def shop(rows=30):
    """Rows with a number, a whole number and a category."""
    X, y = sloped()
    colour = np.where(np.arange(len(X)) % 3 == 0, "red", "blue")
    frame = pd.DataFrame({"size": X[:, 0], "age": np.arange(len(X)), "colour": colour})
    return frame[:rows], y[:rows]


def skewed():
    X, y = sloped()
    return np.exp(X - 5), y


def tall():
    """Two layers, an activation of many pieces, scores and a stretch, no guard."""
    settings = {"hidden": (2, 2), "activation": "tanh", "standardize": "scores", "guard": 0.0}
    return small(**PLAIN, **settings).fit(*skewed()).recalibrate(*skewed())


@pytest.fixture(scope="package")
def model():
    return small(**PLAIN).fit(*shop())


@pytest.fixture(scope="package")
def deep():
    return tall()
