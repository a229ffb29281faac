"""The answers of one fitted model: arrays with one entry for each row."""

import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from ..prediction.density.support import Support
from ..prediction.density.supported import Density, SupportedDensity, grid_between
from .errors import InvalidError
from .question import Question
from .rows import encode
from .view import Thinning, thinned, view

# Log times as times.
TIMES = Support("positive", low=0.0)
# Levels between which a grid of points reaches.
ENDS = (0.001, 0.999)
PACKAGES = ("jax", "numpy", "scikit-learn", "starlette", "uvicorn")

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Engine:
    """A model to ask; ``kind`` is "numbers", "times" or "classes"."""

    model: Any
    view: Any
    kind: str
    outcomes: tuple[str, ...]
    thinning: Thinning | None

    @classmethod
    def of(
        cls, model: Any, outcome: str | None, draws: int | None = None, paths: int | None = None
    ) -> "Engine":
        small, thinning = thinned(model, draws, paths)
        classes, times = hasattr(model, "classes_"), hasattr(model, "predict_survival")
        kind = "classes" if classes else "times" if times else "numbers"
        count = 1 if classes else len(model.units_.y.scale)
        name = "y" if outcome is None else outcome
        names = (name,) if count == 1 else tuple(f"{name}{q}" for q in range(count))
        return cls(model, view(small), kind, names, thinning)

    def encode(self, names: list[str], rows: list[Any]) -> tuple[np.ndarray, list[str]]:
        """Encoded rows, checked, and warnings."""
        x, warnings = encode(self.model.encoder_, self.model.accepts_missing_, names, rows)
        if getattr(self.model, "exposure", None) is not None:
            try:
                self.model.exposure_offset(self.view.encoded_rows(x))
            except ValueError as error:
                raise InvalidError(str(error)) from None
        return x, warnings

    def answer(self, x: np.ndarray, question: Question) -> Arrays:
        """What was asked of encoded rows; names are "mean", "quantiles", and so on.

        Of the q-th of several outcomes they begin with q and a dot.
        """
        if self.kind == "classes":
            return self._classes(x, question)
        density = self._density(x)
        if len(self.outcomes) == 1:
            found = _of_one(density, question, 0)
            if question.interval is not None and question.above[0]:
                found |= self._interval(x, question.above[0], question.interval)
            return found
        return {
            f"{q}.{name}": values
            for q in range(len(self.outcomes))
            for name, values in _of_one(density.marginal(q), question, q).items()
        }

    def _density(self, x: np.ndarray) -> Density:
        density = self.view.predict_density(x).stored()
        return SupportedDensity(density, TIMES) if self.kind == "times" else density

    def _interval(self, x: np.ndarray, above: tuple[float, ...], level: float) -> Arrays:
        if not hasattr(self.model, "predict_above"):
            raise InvalidError(
                "interval: this model has no posterior draws, so no credible intervals"
            )
        there = np.log(above) if self.kind == "times" else np.asarray(above)
        found = self.view.predict_above(x, there[None], level)
        return {"above_low": found[:, 1], "above_high": found[:, 2]}

    def _classes(self, x: np.ndarray, question: Question) -> Arrays:
        found = {"probability": self.view.predict_proba(x)}
        if question.interval is not None:
            band = self.view.probability_bands(x, question.interval)
            found |= {"probability_low": band.lower, "probability_high": band.upper}
        return found

    def gridded(self, ends: Arrays, question: Question, x: np.ndarray) -> Question:
        """The question with values in place of ``points``, from the answer at the levels ENDS."""
        density, prefixes = self._density(x[:1]), [""]
        if len(self.outcomes) > 1:
            prefixes = [f"{q}." for q in range(len(self.outcomes))]
        grids = []
        for q, prefix in enumerate(prefixes):
            low, high = (
                ends[f"{prefix}quantiles"][:, 0].min(),
                ends[f"{prefix}quantiles"][:, 1].max(),
            )
            one = density.marginal(q)
            grid = grid_between(one, low, min(high, 1e300), question.points or 2)
            # All mass may lie at one value.
            grids.append(tuple(grid.tolist()) or (float(low),))
        return replace(question, grid=tuple(grids), points=None)

    def facts(self) -> dict[str, Any]:
        """What GET /v1/model says, in plain values."""
        model, judged = self.model, getattr(self.model, "diagnostics_", None)
        columns = [
            {"name": c.name, "type": "number" if c.levels is None else "category"}
            | ({} if c.levels is None else {"levels": list(c.levels)})
            | ({"site": True} if c.site else {})
            for c in model.encoder_.columns
        ]
        facts = {
            "predicts": self.kind,
            "estimator": type(model).__name__,
            "outcomes": list(self.outcomes),
            "columns": columns,
            "accepts_missing": model.accepts_missing_,
            "convergence": None
            if judged is None
            else {"settled": judged.settled, "verdict": judged.verdict, "advice": judged.advice},
            "thinned": None if self.thinning is None else vars(self.thinning),
            "versions": {"deepnoise": __version__, "python": sys.version.split()[0]}
            | {name: version(name) for name in PACKAGES},
        }
        return facts | ({"classes": model.classes_.tolist()} if self.kind == "classes" else {})


def _of_one(density: Density, question: Question, q: int) -> Arrays:
    found: Arrays = {}
    if question.mean:
        found |= {"mean": density.mean(), "sd": np.sqrt(density.var())}
    if question.quantiles:
        found["quantiles"] = density.quantile(question.quantiles)
    if question.above and question.above[q]:
        found["above"] = density.probability_above_grid(question.above[q])
    if question.grid and question.grid[q]:
        found["density"] = density.pdf_grid(question.grid[q])
    return found


def joined(parts: list[Arrays]) -> Arrays:
    """Answers to consecutive rows as one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def plain(
    engine: Engine, question: Question, arrays: Arrays, warnings: list[str]
) -> dict[str, Any]:
    """An answer as JSON's values; what is no finite number is None."""
    if engine.kind == "classes":
        classes = engine.model.classes_
        found = {
            "classes": classes.tolist(),
            "likeliest": classes[arrays["probability"].argmax(axis=1)].tolist(),
            **{name: _finite(values) for name, values in arrays.items()},
        }
    elif len(engine.outcomes) == 1:
        found = {"outcome": engine.outcomes[0]} | _plain_one(question, arrays, 0)
    else:
        parts = [
            {"outcome": name}
            | _plain_one(
                question,
                {n.removeprefix(f"{q}."): a for n, a in arrays.items() if n.startswith(f"{q}.")},
                q,
            )
            for q, name in enumerate(engine.outcomes)
        ]
        found = {"outcomes": parts}
    extra = {} if question.interval is None else {"interval": question.interval}
    return found | extra | {"warnings": warnings}


def _plain_one(question: Question, arrays: Arrays, q: int) -> dict[str, Any]:
    asked = {"levels": question.quantiles} if question.quantiles else {}
    if "above" in arrays:
        asked["thresholds"] = question.above[q]
    if "density" in arrays:
        asked["grid"] = question.grid[q]
    values = {name: _finite(array) for name, array in arrays.items()}
    return {name: list(numbers) for name, numbers in asked.items()} | values


def _finite(array: np.ndarray) -> list[Any]:
    if np.isfinite(array).all():
        return array.tolist()
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return found.tolist()
