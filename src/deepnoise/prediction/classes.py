"""Class probabilities from latent utilities, draw by draw."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import jax
import numpy as np
from scipy.special import expit, ndtr, softmax, xlogy

from ..inference.runtime import numerics
from ..inference.streams import LAST, OUTCOME
from ..model.outcome import NODES_OF_CHOICE, hermite, log_choice
from ..model.random import normals
from .per_draw import DrawDensities

# Quadrature and differences of cdfs do not tell smaller probabilities apart.
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class ClassUncertainty:
    """Entropy of the class in nats, (N,): total = aleatoric + epistemic.

    ``aleatoric`` is the mean entropy given Θ; ``epistemic`` the information that knowing Θ would
    give, large where the training data say little.
    """

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray


def class_probabilities(
    densities: DrawDensities, cuts: np.ndarray | None, link: str = "probit"
) -> Iterator[tuple[slice, np.ndarray]]:
    """P(class | x, Θ) for blocks of rows: (B, M, C).

    With ``cuts`` (M, C - 1), classes are intervals of one utility, seen through the noise of
    ``link``; without, the largest utility of C is seen: u_L is simulated, and the rest is
    integrated by quadrature, or by simulation too where the link is logistic.
    """
    if cuts is not None:
        sds = np.sqrt(densities.covs())[:, :, 0]
        for rows, means in densities.blocks(cuts.shape[1] + 1):
            ends = [below_cut(cut[:, None] - means[..., 0], sds, link) for cut in cuts.T]
            below = np.stack([np.zeros_like(ends[0]), *ends, np.ones_like(ends[0])], axis=-1)
            yield rows, np.diff(below, axis=-1)
        return
    last, tau2 = _last_noise(densities), densities.draws.tau2[-1]
    if link == "logit":
        last = last + _outcome_noise(densities)
        for rows, means in densities.blocks(densities.n_outcomes):
            yield rows, softmax(means + last, axis=-1).mean(axis=2)
        return
    with numerics():
        choose = jax.jit(lambda mean, variance: jax.numpy.exp(log_choice(mean, variance)))
        for rows, means in densities.blocks(NODES_OF_CHOICE * densities.n_outcomes):
            # Probabilities need no more than float32, which is twice as fast.
            utilities = (means + last).astype(np.float32)
            variance = np.broadcast_to(np.asarray(tau2, np.float32)[:, None], utilities.shape[1:])
            chosen = (np.asarray(choose(row, variance), float) for row in utilities)
            found = np.stack([p.mean(axis=1) for p in chosen])
            yield rows, found / found.sum(axis=-1, keepdims=True)


def log_seen(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """log P(the class that was seen), from (B, ..., C) and labels (B,); (B, ...)."""
    seen = probabilities[np.arange(len(labels)), ..., labels]
    return np.log(np.maximum(seen, LEAST))


def class_functionals(
    probabilities: np.ndarray,
    labels: np.ndarray,
    classes: list[str],
    chains: int,
    rows: list[int],
) -> dict[str, np.ndarray]:
    """P(class) of every row, and its log of the class that was seen: name -> (chain, draw).

    From (N, M, C).  Of two classes the second says all.
    """
    values = {}
    for i, n in enumerate(rows):
        for c in range(1 if len(classes) == 2 else 0, len(classes)):
            name = f"probability[{n},{classes[c]}]"
            values[name] = probabilities[i, :, c].reshape(chains, -1)
    for n, row in zip(rows, log_seen(probabilities, labels), strict=True):
        values[f"log_probability[{n}]"] = row.reshape(chains, -1)
    return values


def below_cut(distance: np.ndarray, sds: np.ndarray, link: str) -> np.ndarray:
    """P(level below a cut) of every row and draw, from distances (B, M, R) and sds (M, 1)."""
    if link == "probit":
        return ndtr(distance / sds).mean(axis=2)
    nodes, log_weights = hermite(float)
    terms = (expit(distance + sds * z) * w for z, w in zip(nodes, np.exp(log_weights), strict=True))
    return np.mean(sum(terms), axis=2)


def _last_noise(densities: DrawDensities) -> np.ndarray:
    """β_L σ_{L-1} z for every draw and path, z shared by all rows: (M, R, Q)."""
    theta = densities.draws
    if theta.L == 0:
        return np.zeros((1, 1, densities.n_outcomes))
    with numerics():
        key = jax.random.fold_in(densities.key, LAST)
        z = np.asarray(normals(key, (densities.paths, theta.sigma2[-1].shape[1]), float))
    scaled = np.asarray(theta.beta[-1], float) * np.sqrt(theta.sigma2[-1])[:, None]
    return np.einsum("mqk,rk->mrq", scaled, z)


def _outcome_noise(densities: DrawDensities) -> np.ndarray:
    """τ_L z for every draw and path, z shared by all rows: (M, R, Q)."""
    with numerics():
        key = jax.random.fold_in(densities.key, OUTCOME)
        z = np.asarray(normals(key, (densities.paths, densities.n_outcomes), float))
    return np.sqrt(np.asarray(densities.draws.tau2[-1], float))[:, None] * z


def uncertainty(densities: DrawDensities, blocks: Iterable[np.ndarray]) -> ClassUncertainty:
    """Entropies of the mean of the draws' probabilities, and the mean of their entropies."""
    parts = [(_entropy(densities.average(p)), densities.average(_entropy(p))) for p in blocks]
    total, aleatoric = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ClassUncertainty(total, aleatoric, np.maximum(total - aleatoric, 0))


def _entropy(p: np.ndarray) -> np.ndarray:
    return -xlogy(p, p).sum(axis=-1)
