"""Answers fast enough to follow a slider, and the axis of y on which they are drawn.

A thinned posterior, one compiled program, two rows.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..estimators.survival import BDeepNoiseSurvival
from ..prediction.density.mixture import PredictiveMixture
from ..prediction.density.support import REAL, Support
from ..prediction.density.supported import SupportedDensity, grid_between, point_masses
from ..prediction.per_draw import DrawDensities

DRAWS = 120
# Every draw has noise of its own: a curve is an average over 15,000 paths.
PATHS = 128
LEVEL = 0.9
QUANTILES = (0.05, 0.5, 0.95)
POINTS = 161
RANGE_ROWS = 50
TIMES = Support("positive", 0.0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values of y on which densities are drawn, and the support that leads from z to them.

    ``time`` if y is a time, whose logarithm the network predicts.  ``symbol`` is what formulas
    call it.
    """

    grid: np.ndarray
    support: Support = REAL
    time: bool = False

    @property
    def symbol(self) -> str:
        return "time" if self.time else "y"

    @property
    def network_grid(self) -> np.ndarray:
        return self.support.least(self.grid)

    @property
    def network_ends(self) -> np.ndarray:
        """The largest z of each value of the grid: the least one but where y has a point mass."""
        return self.support.most(self.grid)

    def to_network(self, c: float) -> float:
        """A threshold, as the network's number."""
        if self.time and c <= 0:
            raise ValueError(f"c must be a time above 0; it is {c:g}")
        return float(self.support.least(c))

    def from_network(self, values: np.ndarray) -> np.ndarray:
        """Quantiles, as the user's numbers."""
        return self.support.value(values)

    def density(self, pdf: np.ndarray) -> np.ndarray:
        """A density of the network's number on its grid, as one of y: p(y) = p(z) dz/dy."""
        return pdf * np.exp(self.support.log_slope(self.grid))


def outcome_of(model: Any, X: Any) -> Outcome:
    """An axis that holds nearly all mass of some rows, the same for every move.

    Times begin at 0 and end with the longest one of training, seen to its end or not: beyond it a
    model only extrapolates.
    """
    density = model.predict_density(X[: min(len(X), RANGE_ROWS)])
    ends = density.quantile([0.005, 0.995])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if isinstance(model, BDeepNoiseSurvival):
        longest = float(np.exp(model.units_.y.undo(model.rows_.y).max()))
        times = np.linspace(0, min(np.exp(high), 1.05 * longest), POINTS + 1)[1:]
        return Outcome(times, TIMES, time=True)
    margin, support = 0.08 * (high - low), getattr(model, "support_", REAL)
    grid = grid_between(density, low - margin, high + margin, POINTS)
    if not support.discrete:
        grid = grid[(grid > support.low) & (grid < support.high)]
    return Outcome(grid, support)


@dataclass(frozen=True, eq=False)
class Answer:
    """What is shown of S scenarios; ``lower`` and ``upper`` are None for a model without draws.

    ``pdf``, ``lower`` and ``upper`` are (S, G) on the grid; ``quantiles`` (S, 3) at 5, 50 and
    95 %; ``above`` (S, 3) is P(y >= c) and its 90 % credible interval, which has no width for a
    model without draws.  ``moments`` (S, 2) are mean and sd; None of times, whose own may be
    infinite.  ``masses`` are values with a probability of their own, and those (S,).
    """

    pdf: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    quantiles: np.ndarray
    above: np.ndarray
    moments: np.ndarray | None
    masses: tuple[tuple[float, np.ndarray], ...] = ()


class Engine:
    """A fitted model of one outcome, thinned for the page; ``thinning`` says how, "" if not."""

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.thinning, self.draws = model, "", 1
        if hasattr(model, "posterior_"):
            self.model, self.draws, all_draws = thinned(model)
            if self.draws < all_draws:
                self.thinning = (
                    f"Thinned: this page uses {self.draws} of {all_draws:,} draws, {PATHS} noise "
                    "paths of each, to answer at once; deepnoise predict uses all of them."
                )
            # What does not depend on the row is computed once.
            fitted = self.model.predictive_
            densities = fitted.draw_densities(self.model.encoded_rows(X[:1]))
            densities = replace(densities, paths=PATHS)
            self.sds = np.sqrt(densities.covs()[:, 0, 0])
            self.densities = replace(densities, inputs=fitted.input_laws).on_device()
        self.outcome = outcome_of(self.model, X)

    def answer(self, encoded: np.ndarray, c: float) -> Answer:
        """``encoded`` has one row a scenario, as of the model's encoder."""
        x, fitted = self.model.units_.x.apply(encoded), self.model.predictive_
        if not hasattr(self.model, "posterior_"):
            return plain_answer(fitted.density(x), self.outcome, c)
        densities = replace(self.densities, x=fitted.network_rows(x))
        if (offset := fitted.exposure_offset(x)) is not None:
            shift = np.array(self.model.units_.y.mean) + offset[:, None]
            densities = replace(densities, shift=shift)
        return draw_answer(densities, self.sds, self.outcome, c)


def thinned(model: Any) -> tuple[Any, int, int]:
    """The model with at most DRAWS draws in all, in memory; draws kept, and draws there were."""
    few, chains = copy(model), len(model.chain_weights_)
    total = chains * model.posterior_.run.n_draws
    few.posterior_ = model.posterior_.only(slice(None, None, max(-(-total // DRAWS), 1)))
    return few, few.predictive_.draw_weights().size, total


def draw_answer(densities: DrawDensities, sds: np.ndarray, outcome: Outcome, c: float) -> Answer:
    cut, grid = outcome.to_network(c), outcome.network_grid
    means = densities.means_apart()[..., 0]
    if outcome.support.discrete:
        pdf = np.stack([steps(row, sds, grid, outcome.network_ends) for row in means])
    else:
        pdf = outcome.density(np.stack([curves(row, sds, grid) for row in means]))
    above = ndtr((means - cut) / sds[:, None]).mean(axis=2)
    lower, upper = densities.credible(pdf, LEVEL)
    ends = densities.credible(above, LEVEL)
    rows, draws, paths = means.shape
    weights = np.repeat(densities.weights / paths, paths)[None]
    covs = np.repeat(sds**2, paths)[None, :, None, None]
    whole = PredictiveMixture.of(means.reshape(rows, draws * paths, 1), covs, weights)
    return Answer(
        densities.average(pdf),
        lower,
        upper,
        outcome.from_network(whole.quantile(QUANTILES)),
        np.stack([densities.average(above), *ends], axis=1),
        moments(whole, outcome),
        tuple(point_masses(SupportedDensity(whole, outcome.support))),
    )


def moments(density: PredictiveMixture, outcome: Outcome) -> np.ndarray | None:
    if outcome.time:
        return None
    law = density if outcome.support.is_real else SupportedDensity(density, outcome.support)
    return np.stack([law.mean(), np.sqrt(law.var())], axis=1)


def curves(means: np.ndarray, sds: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Density of every draw on the grid, (M, G), from means (M, R) and one sd a draw.

    In float32, which is several times faster, and exact to a small part of a pixel.
    """
    # From the first point on: float32 would lose the difference of large numbers.
    centres = ((means - grid[0]) / sds[:, None]).astype(np.float32)
    points = ((grid - grid[0]) / sds[:, None]).astype(np.float32)
    kernel = points[:, None] - centres[..., None]
    np.multiply(kernel, kernel, out=kernel)
    np.exp(np.multiply(kernel, np.float32(-0.5), out=kernel), out=kernel)
    return kernel.mean(axis=1, dtype=float) / (sds[:, None] * np.sqrt(2 * np.pi))


def steps(means: np.ndarray, sds: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Probability of every count of the grid by every draw, (M, G), a count at a time."""
    ends = np.append(low, high[-1:])
    below = [ndtr((end - means) / sds[:, None]).mean(axis=1) for end in ends]
    return np.diff(np.stack(below, axis=1), axis=1)


def plain_answer(density: PredictiveMixture, outcome: Outcome, c: float) -> Answer:
    above = density.probability_above(outcome.to_network(c))
    return Answer(
        outcome.density(density.pdf_grid(outcome.network_grid)),
        None,
        None,
        outcome.from_network(density.quantile(QUANTILES)),
        np.stack([above] * 3, axis=1),
        moments(density, outcome),
    )
