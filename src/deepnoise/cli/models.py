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
from .targets import Target

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TABLE = "table.json"


@dataclass(frozen=True)
class Columns:
    """Columns of the training table that were no features; ``dropped`` are all but the target."""

    target: str | None = None
    dropped: tuple[str, ...] = ()
    upper: str | None = None
    event: str | None = None


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
        others = {name: found.get(name) for name in ("upper", "event")}
        return Columns(found["target"], tuple(found["dropped"]), **others)
    except FileNotFoundError:
        return Columns()
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{folder / TABLE} is damaged: delete it and use --target") from None


def kind_of(model: Any) -> str:
    """What a model predicts: numbers, times or classes."""
    if hasattr(model, "classes_"):
        return "classes"
    return "times" if hasattr(model, "predict_survival") else "numbers"


def open_model(folder: Path, lazy: bool = True) -> Any:
    """The estimator of a folder."""
    from ..estimators.files import load

    model = load(folder, lazy=lazy)
    if kind_of(model) != "classes" and len(model.units_.y.scale) > 1:
        raise BadInput(f"{folder} has several outcomes: use it from Python")
    return model


def open_finished(folder: Path, classes: bool = False) -> Any:
    """The estimator, if its chains have kept draws; a classifier where it is of use."""
    model = open_model(folder)
    if kind_of(model) == "classes" and not classes:
        raise BadInput(
            f"{folder} predicts classes: for it there are predict, score, diagnose, plot, resume "
            f"and serve"
        )
    if not model.posterior_.run.n_draws:
        raise BadInput(_stopped(folder))
    return model


def open_served(folder: Path) -> Any:
    """An estimator of any kind, in memory, if it can predict."""
    from ..estimators.files import load

    model = load(folder)
    if hasattr(model, "posterior_") and not model.posterior_.run.n_draws:
        raise BadInput(_stopped(folder))
    return model


def _stopped(folder: Path) -> str:
    return f"{folder} was stopped before its first draw: continue with: deepnoise resume {folder}"


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


def scored(
    folder: Path,
    model: Any,
    frame: "pd.DataFrame",
    source: str,
    target: str | None,
    upper: str | None,
    event: str | None,
) -> tuple[Any, Any]:
    """Features and outcomes as the model takes them: numbers, windows, times or classes."""
    columns, kind = recall(folder), kind_of(model)
    name, upper = target or columns.target, upper or columns.upper
    event = event or columns.event
    if name is None:
        raise BadInput(f"{folder} does not know the name of its target: use --target")
    if kind == "times" and event is None:
        raise BadInput(f"{folder} predicts times and does not know its column of events: --event")
    if kind != "times" and event is not None:
        raise BadInput(f"--event: {folder} predicts {kind}, not times")
    y = Target(name, upper, event, kind == "classes").read(frame, source)
    others = [name, *columns.dropped, *filter(None, (upper, event))]
    return features(model, frame, others, source), y
