"""What a model folder says of its estimator, and writing one while the chains still run."""

import json
import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..inference import storage
from ..inference.model_folder import HEADER, ModelFileError, check_writable, current_header, to_json
from ..inference.posterior import Plan, Posterior
from ..inference.priors import PriorSpec
from ..inference.sharding import ALONE, Crew
from ..inference.storage import EMPTY
from ..model.activation import PiecewiseLinear

SECONDS_BETWEEN = 5.0
# Of the time of a fit, that writing checkpoints may take.
LARGEST_SHARE = 0.05


def estimator_header(estimator: Any, seed: int) -> dict[str, Any]:
    """Plain values from which, with a posterior, the estimator can be built again."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "estimator": type(estimator).__name__,
        "params": {name: _plain(value) for name, value in estimator.get_params(deep=False).items()},
        "seed": seed,
        "encoder": estimator.encoder_.to_dict(),
        "units": estimator.units_.to_dict(),
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "chain_weights": [float(w) for w in getattr(estimator, "chain_weights_", ())],
        **estimator.header(),
    }


def _plain(value: Any) -> Any:
    """A parameter as JSON; None for what has no such form (a function, a RandomState)."""
    if isinstance(value, PiecewiseLinear | PriorSpec):
        return asdict(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else None


class Checkpointer:
    """Writes a posterior to a folder: at once, then every few seconds, and in one piece at the end.

    ``found`` is the fit that the folder already holds, to be continued.  A folder that holds
    another fit, or that cannot be written, is refused.  A write that fails is an error only if it
    is the first: later ones must not cost what the chains have drawn.  Of several processes, the
    leader says when, all hand over their rows, and the leader writes.
    """

    def __init__(
        self,
        folder: str | Path,
        plan: Plan,
        header: dict[str, Any],
        rows: dict[str, np.ndarray],
        crew: Crew = ALONE,
    ):
        stored = _stored(Path(folder))
        if stored is not None:
            _refuse_other(Path(folder), stored, plan, header, rows)
        if crew.leads:
            check_writable(Path(folder))
        self._crew = crew
        self.found = None if stored is None else _continued(stored.posterior, plan)
        self._folder, self.header, self._rows = Path(folder), header, {"rows": rows}
        self._known = EMPTY if stored is None else stored.manifest
        self._sweeps = -1 if stored is None else stored.posterior.run.t
        self._next = -math.inf

    def __call__(self, posterior: Posterior, last: bool = False) -> None:
        began = time.monotonic()
        ahead = posterior.run.t - self._sweeps
        to_join = last and ahead == 0 and len(self._known.blocks) > 1
        due = (ahead > 0 or to_join) and (last or began >= self._next)
        if not self._crew.agreed(due):
            return
        posterior = replace(posterior, run=posterior.run.whole())
        if not self._crew.leads:
            return
        held = sum(block.count for block in self._known.blocks)
        anew = last or posterior.run.n_draws < held
        known = replace(self._known, blocks=()) if anew else self._known
        try:
            self._known = storage.write(self._folder, posterior, self.header, self._rows, known)
            self._sweeps = posterior.run.t
        except ModelFileError as error:
            if self._next == -math.inf:
                raise
            warnings.warn(
                f"the checkpoint could not be written; the fit continues without it: {error}",
                stacklevel=2,
            )
        took = time.monotonic() - began
        self._next = began + max(SECONDS_BETWEEN, took / LARGEST_SHARE)


def checkpoint_seed(folder: str | Path | None) -> int | None:
    """The seed of the fit that a folder holds, if there is one."""
    header = None if folder is None else current_header(Path(folder))
    return None if header is None else header["plan"]["seed"]


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is not None and b is not None and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _stored(folder: Path) -> storage.Stored | None:
    return storage.read(folder) if (folder / HEADER).exists() else None


def _continued(found: Posterior, plan: Plan) -> Posterior:
    """The fit that was found, to be continued by ``plan`` in the round in which it was."""
    if found.plan.burn:
        plan = replace(plan, burn=found.plan.burn, thin=found.plan.thin)
    return replace(found, plan=plan)


def _refuse_other(folder: Path, stored: storage.Stored, plan: Plan, header, rows) -> None:
    """An error that names what differs, unless the folder holds an earlier stage of this fit."""
    there, here = asdict(stored.posterior.plan), asdict(_continued(stored.posterior, plan).plan)
    wrong = [
        f"{name} is {there[name]} there and {here[name]} here"
        for name in here
        if name != "draws" and there[name] != here[name]
    ]
    held_rows, plain = stored.extra.get("rows", {}), json.loads(to_json(header))
    for name, given in (("X", {"x"}), ("y", {*rows, *held_rows} - {"x"})):
        if not all(_same(held_rows.get(part), rows.get(part)) for part in given):
            wrong.append(f"the rows of {name} differ")
    wrong += [
        f"{words} differ"
        for part, words in (("encoder", "the columns of X"), ("units", "the units of X or y"))
        if stored.header.get(part) != plain[part]
    ]
    held = stored.posterior.run.n_draws
    if held > plan.draws:
        wrong.append(f"it already holds {held} draws per chain, more than {plan.draws}")
    if wrong:
        raise ValueError(
            f"checkpoint: {folder} holds a different fit ({'; '.join(wrong)}): "
            f"choose another folder, or delete this one"
        )
