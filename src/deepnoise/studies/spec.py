"""What a study runs: methods, sets, splits and settings, from a TOML file.

Specs are shipped with the package under the names of the studies; each has a smoke twin that runs
the same code in seconds.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from ..baselines.registry import method
from ..datasets import synthetic
from ..datasets.uci import NAMES

STUDIES = ("synthetic", "uci")


@dataclass(frozen=True, order=True)
class Case:
    """One fit: a method on a split of a set (a replicate of a law), with a seed."""

    method: str
    set: str
    split: int
    seed: int

    @property
    def random_state(self) -> int:
        return 1000 * self.seed + self.split


@dataclass(frozen=True)
class Spec:
    """A study; ``sizes`` are those of the synthetic sets, ``settings`` are by method."""

    study: str
    methods: tuple[str, ...]
    sets: tuple[str, ...]
    splits: int
    sizes: tuple[int, ...] = ()
    seeds: tuple[int, ...] = (0,)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def settings_of(self, name: str) -> dict[str, Any]:
        """Settings of a method that differ from its estimator's defaults."""
        return dict(self.settings.get(name, {}))

    def settings_hash(self, name: str) -> str:
        """The same for the same settings: rows of other settings are other rows."""
        text = json.dumps([name, self.settings_of(name)], sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def cases(self, splits_of: Mapping[str, int]) -> list[Case]:
        """All fits, set by set and split by split; ``splits_of`` says how many a set has."""
        return [
            Case(name, set_name, split, seed)
            for set_name in self.set_names()
            for seed in self.seeds
            for split in range(min(self.splits, splits_of[set_name]))
            for name in self.methods
        ]

    def set_names(self) -> tuple[str, ...]:
        """Sets; synthetic ones with their size, such as skewed-1000."""
        if self.study == "uci":
            return self.sets
        return tuple(f"{law}-{size}" for law in self.sets for size in self.sizes)

    def only(self, **chosen: Any) -> "Spec":
        """The spec with some parts replaced; None leaves a part as it is."""
        return checked(replace(self, **{k: v for k, v in chosen.items() if v is not None}))


def checked(spec: Spec) -> Spec:
    """The spec itself, or an error that names what is wrong."""
    if spec.study not in STUDIES:
        raise ValueError(f"study must be one of {', '.join(STUDIES)}; got {spec.study!r}")
    known = NAMES if spec.study == "uci" else synthetic.NAMES
    for name in spec.sets:
        if name not in known:
            raise ValueError(f"sets: unknown {name!r}; choose from {', '.join(known)}")
    for name in (*spec.methods, *spec.settings):
        method(name)
    if spec.splits < 1 or not (spec.methods and spec.sets and spec.seeds):
        raise ValueError("methods, sets, seeds and splits: at least one of each")
    if spec.study == "synthetic" and not _counts(spec.sizes):
        raise ValueError("sizes: a synthetic study needs numbers of rows such as [1000, 2000]")
    return spec


def _counts(sizes: Any) -> bool:
    """Whether these are whole numbers from 1, at least one of them."""
    return isinstance(sizes, tuple) and bool(sizes) and all(type(n) is int and n > 0 for n in sizes)


def read_spec(name: str | Path) -> Spec:
    """A spec by the name of one that is shipped (uci, uci-smoke, ...) or from a TOML file."""
    shipped = resources.files(__package__) / "specs" / f"{name}.toml"
    path = Path(name)
    if path.suffix == ".toml":
        text = path.read_text("utf-8")
    elif shipped.is_file():
        text = shipped.read_text("utf-8")
    else:
        raise ValueError(
            f"no spec {str(name)!r}: give a TOML file, or a study with or without -smoke"
        )
    try:
        raw = tomllib.loads(text)
        unknown = set(raw) - {part.name for part in fields(Spec)}
        if unknown:
            raise ValueError(f"unknown keys {', '.join(sorted(unknown))}")
        return checked(Spec(**{key: _frozen(value) for key, value in raw.items()}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(part) for key, part in value.items()}
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
