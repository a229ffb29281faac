"""A folder that looks like the UCI sets, and a study whose fits take no time."""

from pathlib import Path

import numpy as np

from deepnoise.studies.ledger import Ledger
from deepnoise.studies.paper import UciStudy
from deepnoise.studies.spec import Spec

QUICK = {"gp": {"restarts": 0}}


def uci_folder(folder: Path, name: str = "wine", rows: int = 72, splits: int = 3) -> Path:
    """y takes the values 3 to 8 only, as Wine's does."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 1))
    y = np.clip(np.round(5.5 + x[:, 0] + 0.3 * rng.normal(size=rows)), 3, 8)
    table = "\n".join(",".join(map(repr, map(float, row))) for row in np.c_[x, y])
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text(f"a,y\n{table}\n")
    tests = [",".join(map(str, range(k, rows, max(6, splits)))) for k in range(splits)]
    (folder / f"{name}.test_rows.csv").write_text("\n".join(tests) + "\n")
    return folder


def quick_study(tmp_path: Path, splits: int = 3, **settings) -> tuple[UciStudy, Ledger]:
    spec = Spec("uci", ("gp",), ("wine",), splits, settings=QUICK | settings)
    folder = uci_folder(tmp_path / "data", splits=splits)
    return UciStudy(spec, folder), Ledger(tmp_path / "ledger.jsonl")
