"""Answers fast enough to follow a slider: a thinned posterior, one compiled program, two rows."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from scipy.special import ndtr

from ..prediction.mixture import GaussianMixture
from ..prediction.per_draw import DrawDensities, as_float64

DRAWS = 120
PATHS = 64
POINTS = 161
LEVEL = 0.9
RANGE_ROWS = 50


@dataclass(frozen=True, eq=False)
class Answer:
    """What is shown of S scenarios; ``lower`` and ``upper`` are None for a model without draws.

    ``pdf``, ``lower`` and ``upper`` are (S, G) on the grid; ``quantiles`` (S, 3) at 5, 50 and
    95 %; ``mean`` and ``sd`` (S,); ``above`` (S, 3) is P(y >= c) and its 90 % credible interval,
    which has no width for a model without draws.
    """

    pdf: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    quantiles: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    above: np.ndarray


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
            densities = replace(self.model._draw_densities(X[:1]), paths=PATHS)
            densities = replace(densities, inputs=self.model._all_input_laws())
            self.sds = np.sqrt(densities.covs()[:, 0, 0])
            with jax.enable_x64(True):
                self.densities = replace(densities, draws=as_float64(densities.draws))
        self.grid = common_range(self.model, X)

    def answer(self, X: Any, c: float) -> Answer:
        """X has one row a scenario."""
        if not hasattr(self.model, "posterior_"):
            return plain_answer(self.model.predict_density(X), self.grid, c)
        densities = replace(self.densities, x=self.model._rows(X))
        return draw_answer(densities, self.sds, self.grid, c)


def thinned(model: Any) -> tuple[Any, int, int]:
    """The model with at most DRAWS draws in all, in memory; draws kept, and draws there were."""
    run = model.posterior_.run
    step = max(-(-run.n_draws * len(model.chain_weights_) // DRAWS), 1)
    draws, beside = jax.tree.map(lambda a: np.asarray(a[:, ::step], float), (run.draws, run.beside))
    kept = draws.gamma[0].shape[1]
    view = copy.copy(model)
    view.posterior_ = replace(model.posterior_, run=replace(run, draws=draws, beside=beside))
    view._laws = None
    chains = len(model.chain_weights_)
    return view, kept * chains, run.n_draws * chains


def common_range(model: Any, X: Any) -> np.ndarray:
    """Values of y that hold nearly all mass of some rows, the same for every move."""
    density = model.predict_density(X[: min(len(X), RANGE_ROWS)])
    ends = density.quantile([0.005, 0.995])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    margin = 0.08 * (high - low)
    return np.linspace(low - margin, high + margin, POINTS)


def draw_answer(densities: DrawDensities, sds: np.ndarray, grid: np.ndarray, c: float) -> Answer:
    means = np.concatenate([block for _, block in densities.blocks()])[..., 0]
    pdf = np.stack([curves(row, sds, grid) for row in means])
    above = ndtr((means - c) / sds[:, None]).mean(axis=2)
    lower, upper = densities.credible(pdf, LEVEL)
    ends = densities.credible(above, LEVEL)
    rows, draws, paths = means.shape
    weights = np.repeat(densities.weights / paths, paths)[None]
    covs = np.repeat(sds**2, paths)[None, :, None, None]
    whole = GaussianMixture.of(means.reshape(rows, draws * paths, 1), covs, weights)
    return Answer(
        densities.average(pdf),
        lower,
        upper,
        whole.quantile([0.05, 0.5, 0.95]),
        whole.mean(),
        np.sqrt(whole.var()),
        np.stack([densities.average(above), *ends], axis=1),
    )


def curves(means: np.ndarray, sds: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Density of every draw on the grid, (M, G), from means (M, R) and one sd a draw.

    In float32, which is several times faster, and exact to a small part of a pixel.
    """
    z = (grid - means[..., None]) / sds[:, None, None]
    kernel = np.exp(-np.square(z.astype(np.float32)) / 2)
    return kernel.mean(axis=1, dtype=float) / (sds[:, None] * np.sqrt(2 * np.pi))


def plain_answer(density: GaussianMixture, grid: np.ndarray, c: float) -> Answer:
    above = density.probability_above(c)
    return Answer(
        density.pdf_grid(grid),
        None,
        None,
        density.quantile([0.05, 0.5, 0.95]),
        density.mean(),
        np.sqrt(density.var()),
        np.stack([above] * 3, axis=1),
    )
