"""Tables of forecast hubs: every value comes back from a CSV file as the density gives it."""

import io

import numpy as np
import pandas as pd
import pytest

from deepnoise import PredictiveMixture
from deepnoise.exports import hub_table
from deepnoise.exports.hub import HUB_LEVELS
from deepnoise.prediction.density.support import Support
from deepnoise.prediction.density.supported import SupportedDensity

RNG = np.random.default_rng(0)
DENSITY = PredictiveMixture.of(RNG.normal(size=(3, 4, 1)), RNG.uniform(0.1, 1, (1, 4, 1, 1)))
COUNTS = SupportedDensity(DENSITY, Support("counts", 0.0))
TASKS = pd.DataFrame(
    {"location": ["01", "02", "US"], "horizon": [1, 2, 2], "model_id": "us-dn"}, index=[7, 8, 8]
)
KEYS = ["location", "horizon", "model_id"]


@pytest.mark.parametrize("density", [DENSITY, COUNTS])
def test_values_come_back_from_a_file(density):
    wanted = {"cdf": [0.0, 1.5], "mean": True, "median": True, "samples": 5, "random_state": 3}
    written = hub_table(density, TASKS, **wanted)
    text = written.to_csv(index=False)
    table = pd.read_csv(io.StringIO(text), dtype={"location": str, "output_type_id": str})
    assert list(table) == [*KEYS, "output_type", "output_type_id", "value"]
    assert len(table) == 3 * (23 + 2 + 1 + 1 + 5)
    for n, (_, task) in enumerate(TASKS.iterrows()):
        mine = table[(table[KEYS] == task[KEYS]).all(axis=1)]
        kinds = {str(kind): part for kind, part in mine.groupby("output_type")}
        levels = kinds["quantile"]["output_type_id"].astype(float)
        np.testing.assert_allclose(levels, HUB_LEVELS)
        np.testing.assert_allclose(kinds["quantile"]["value"], density[n].quantile(levels)[0])
        points = kinds["cdf"]["output_type_id"].astype(float)
        np.testing.assert_allclose(kinds["cdf"]["value"], density[n].cdf_grid(points)[0])
        np.testing.assert_allclose(kinds["mean"]["value"], density.mean()[n])
        np.testing.assert_allclose(kinds["median"]["value"], density.quantile(0.5)[n])
        assert kinds["mean"]["output_type_id"].isna().all()
        np.testing.assert_allclose(kinds["sample"]["value"], density.sample(5, 3)[n])
    numbers = table.loc[table["output_type"] == "sample", "output_type_id"]
    assert numbers.tolist() == [str(k) for k in range(15)]


def test_identifiers_are_numbers_where_all_are():
    table = hub_table(DENSITY, TASKS, mean=True)
    assert table["output_type_id"].dtype == float
    assert table.index.tolist() == list(range(3 * 24))


@pytest.mark.parametrize(
    ("density", "tasks", "more", "words"),
    [
        (DENSITY, TASKS[:2], {}, "tasks must have 3 rows"),
        (DENSITY, TASKS.assign(value=1), {}, "'value'"),
        (DENSITY, [1, 2, 3], {}, "pandas frame"),
        (DENSITY, TASKS, {"quantiles": [0.5, 1.0]}, "between 0 and 1"),
        (DENSITY, TASKS, {"cdf": [np.nan]}, "cdf must be finite"),
        (DENSITY, TASKS, {"quantiles": []}, "nothing to write"),
        (PredictiveMixture.of([[[0.0, 1.0]]] * 3, [[np.eye(2)]]), TASKS, {}, "marginal"),
    ],
)
def test_bad_input(density, tasks, more, words):
    with pytest.raises(ValueError, match=words):
        hub_table(density, tasks, **more)
