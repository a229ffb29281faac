"""A small table, a small model of it, and commands run in this process."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from deepnoise.cli import main

SIZES = {"hidden": 3, "chains": 2, "warmup": 10, "draws": 10, "paths": 2}
SETTINGS = {**SIZES, "hidden": (3,), "init": "prior", "sampler": "gibbs"}
TINY = [*(f"--{name}={size}" for name, size in SIZES.items()), "--init=prior", "--sampler=gibbs"]
ROWS, TEST_ROWS = 24, 8


def run(*arguments: object, **settings: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **settings)


def fit(data: object, out: object, *more: object) -> Result:
    return run("fit", data, "--target", "y", "--drop", "id", "--out", out, *TINY, *more)


def predicted(model: object, data: object, *more: object) -> str:
    result = run("predict", model, data, *more)
    assert result.exit_code == 0, result.output
    return result.stdout


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"r{n}" for n in range(rows)],
            "size": rng.normal(10, 2, rows).round(3),
            "age": rng.integers(20, 60, rows),
            "colour": np.where(np.arange(rows) % 3 == 0, "red", "blue"),
        }
    )
    return frame.assign(y=(5 * frame["size"] + rng.normal(size=rows)).round(3))


def error(result: Result, status: int) -> str:
    """The one line of an error."""
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1
    assert result.stderr.splitlines()[-1] == lines[0]
    assert "Traceback" not in result.stderr
    return lines[0].removeprefix("Error: ")


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder with train.csv, test.csv and the model of a fit."""
    folder = tmp_path_factory.mktemp("cli")
    table(ROWS, 0).to_csv(folder / "train.csv", index=False)
    table(TEST_ROWS, 1).to_csv(folder / "test.csv", index=False)
    result = fit(folder / "train.csv", folder / "model", "--json")
    assert result.exit_code == 0, result.output
    (folder / "fit.json").write_text(result.stdout)
    return folder
