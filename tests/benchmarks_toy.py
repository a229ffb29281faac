"""A tiny fit, and benchmarks run as a command would in this process."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

SIZES = {"hidden": (2,), "chains": 2, "warmup": 10, "draws": 10, "thin": 1}
TINY = {**SIZES, "init": "prior", "sampler": "gibbs"}


def run(monkeypatch, script: ModuleType, *words: object, **settings: Any) -> Any:
    monkeypatch.setattr("sys.argv", [script.__name__, *map(str, words)])
    return script.main(**settings)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]
