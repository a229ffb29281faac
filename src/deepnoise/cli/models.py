"""Model folders as the command line sees them: an estimator, and the columns of its table."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .app import BadInput, Failure
from .tables import called, listed, numbers_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TABLE = "table.json"


@dataclass(frozen=True)
class Columns:
    """Columns of the training table that were no features."""

    target: str | None = None
    dropped: tuple[str, ...] = ()


def remember(folder: Path, columns: Columns) -> None:
    """Write them beside the model."""
    part = folder / f"{TABLE}.{os.getpid()}.part"
    try:
        part.write_text(json.dumps(asdict(columns)), "utf-8")
        part.replace(folder / TABLE)
    except OSError as error:
        raise Failure(f"cannot write to {folder}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def recall(folder: Path) -> Columns:
    """What was written, or nothing: a model saved from Python has no such file."""
    try:
        found = json.loads((folder / TABLE).read_text("utf-8"))
        return Columns(found["target"], tuple(found["dropped"]))
    except FileNotFoundError:
        return Columns()
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{folder / TABLE} is damaged: delete it and use --target") from None


def open_model(folder: Path, lazy: bool = True) -> Any:
    """The estimator of a folder."""
    from ..estimators.files import load

    model = load(folder, lazy=lazy)
    if len(model.units_.y.scale) > 1:
        raise BadInput(f"{folder} has several outcomes: use it from Python")
    return model


def open_finished(folder: Path) -> Any:
    """The estimator, if its chains have kept draws."""
    model = open_model(folder)
    if not model.posterior_.run.n_draws:
        raise BadInput(
            f"{folder} was stopped before its first draw: continue with: deepnoise resume {folder}"
        )
    return model


def features(
    model: Any, frame: "pd.DataFrame", others: Sequence[str], source: str
) -> "pd.DataFrame | np.ndarray":
    """Exactly the model's columns, matched by name; ``others`` may be there too."""
    if not model.encoder_.named:
        left = frame[[name for name in frame.columns if name not in others]]
        if left.shape[1] != model.n_features_in_:
            raise BadInput(
                f"{called(source)}: the model has {model.n_features_in_} columns without names, "
                f"there are {left.shape[1]}: {listed(left.columns)}"
            )
        import numpy as np

        return np.stack([numbers_of(left, name, source) for name in left.columns], axis=1)
    names = [column.name for column in model.encoder_.columns]
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise BadInput(f"{called(source)}: no column {listed(missing)}, which the model needs")
    extra = [name for name in frame.columns if name not in {*names, *others}]
    if extra:
        raise BadInput(f"{called(source)}: columns not seen when fitting: {listed(extra)}")
    return frame[names]


def judged(
    folder: Path, model: Any, frame: "pd.DataFrame", target: str | None, source: str
) -> tuple[Any, "np.ndarray"]:
    """Features and outcomes of a table with both."""
    columns = recall(folder)
    name = target or columns.target
    if name is None:
        raise BadInput(f"{folder} does not know the name of its target: use --target")
    y = numbers_of(frame, name, source)
    return features(model, frame, [name, *columns.dropped], source), y
