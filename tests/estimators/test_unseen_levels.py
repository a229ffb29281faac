"""A level that was not there when fitting is a missing input: a warning, and a wider density."""

import numpy as np
import pytest

from .toy import PLAIN, small

pd = pytest.importorskip("pandas")


@pytest.mark.slow
def test_an_unseen_level_widens_the_density():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "colour": ["red", "blue"] * 30})
    y = 5.0 * (X["colour"] == "red") + 0.1 * rng.normal(size=60)
    model = small(**PLAIN, warmup=400).fit(X, y)
    new = pd.DataFrame({"a": [0.0, 0.0, 0.0], "colour": ["blue", "red", "green"]})
    with pytest.warns(UserWarning, match="taken as missing: 'green' in column 'colour'"):
        density = model.predict_density(new)
    blue, red, green = density.mean()
    assert blue < green < red
    assert density.var()[2] > 2 * density.var()[:2].max()
