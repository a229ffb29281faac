"""Draws of ``pallas_v_kernel.py`` against the package's in float64, for ``pallas_v.py``."""

from collections.abc import Iterator
from functools import partial
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from deepnoise.model import piecewise_normal
from deepnoise.model.activation import hard_tanh
from deepnoise.model.piecewise_normal import PiecewiseNormal
from pallas_v_kernel import Tile, layer, philox, uniforms

# log10 of the least and largest variance, and how far m and u_next reach.
MODELS = {"plausible": (-4, 0.5, 2), "wide": (-5, 4, 30), "far out": (-6, 6, 1e4)}
KNOWN = [  # of Random123: counter, key, words
    ((0, 0), 0, (0xFF1DAE59, 0x6CD10DF2)),
    ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0x2C3F628B, 0xAB4FD7AD)),
    ((0x243F6A88, 0x85A308D3), 0x13198A2E, (0xDD7CE038, 0xF62A4C12)),
]


def checks(tiles: list[Tile], rows: int, K: int = 50, before: int = 13) -> Iterator[dict]:
    """Words by heart; then every draw from the same uniforms, and the sums, outputs poisoned.

    Errors are in units of what float32 allows, for a draw 1e-6 of what goes in and 2e-5 of the
    spread of its piece.  ``moved`` is the share of draws beyond that: from another piece, or NaN.
    """
    for (low, high), key, words in KNOWN:
        made = jax.jit(philox)(*np.array([[low], [high], [key]], np.uint32))
        yield {"check": "Philox", "ok": tuple(int(word[0]) for word in made) == words}
    layers = {tile: jax.jit(jax.vmap(partial(layer, tile, poison=True))) for tile in tiles}
    for name, model in MODELS.items():
        words, *given = problem(np.random.default_rng(0), *model, rows, K, before)
        u, u_next, beta, gamma, tau2, sigma2 = (np.asarray(a, float) for a in given)
        m = u @ beta.swapaxes(1, 2) + gamma[:, None]
        inputs = np.abs(u) @ np.abs(beta).swapaxes(1, 2) + np.abs(gamma)[:, None] + np.abs(u_next)
        law = PiecewiseNormal(m, tau2[:, None], u_next, sigma2[:, None], hard_tanh)
        expected, spread = reference(law, words)
        allowed = 1e-6 * (inputs + 1) + 2e-5 * spread
        for tile, one in layers.items():
            row = {"check": str(tile), "model": name}
            try:
                v, sums = (np.asarray(a, float) for a in one(words, *given))
            except Exception as error:
                yield row | {"failed": f"{type(error).__name__}: {error}"[:300]}
                continue
            error = np.nan_to_num(np.abs(v - expected) / allowed, nan=np.inf)
            misses = np.stack([v - m, u_next - np.clip(v, -1, 1)], axis=1)
            off = np.abs(sums - (misses**2).sum(axis=2))
            off /= 1e-6 * (np.abs(misses) * (np.abs(misses) + inputs[:, None])).sum(axis=2)
            row |= {"error": float(np.quantile(error, 0.9999)), "moved": float((error > 1).mean())}
            ok = row["moved"] <= 1e-4 and off.max() < 1
            yield row | {"sums": float(off.max()), "ok": bool(ok)}


def problem(rng, low, high, reach, rows, K, before, chains=2):
    """Words and the inputs of ``layer``, for each chain."""
    words = rng.integers(2**32, size=(chains, 2), dtype=np.uint32)
    u = rng.normal(size=(chains, rows, before))
    u_next = reach * rng.normal(size=(chains, rows, K)) * 10 ** rng.uniform(-1, 0, (chains, 1, K))
    beta = reach * rng.normal(size=(chains, K, before)) / np.sqrt(before)
    gamma = reach * rng.normal(size=(chains, K)) / 2
    tau2, sigma2 = 10 ** rng.uniform(low, high, size=(2, chains, K))
    return words, *(jnp.asarray(a, jnp.float32) for a in (u, u_next, beta, gamma, tau2, sigma2))


def reference(law: PiecewiseNormal, words) -> tuple[np.ndarray, np.ndarray]:
    """The package's draw from the kernel's uniforms, and the spread of the piece it is in."""
    entries = jnp.arange(law.m[0].size, dtype=np.int32).reshape(law.m[0].shape)
    v, lam, omega = (np.asarray(a) for a in _drawn(law, entries, words))
    middle, tau = np.abs(v) < 1, np.sqrt(law.tau2)
    depth = np.where(middle, (np.abs(lam) - 1) / omega, (1 - np.sign(v) * law.m) / tau)
    return v, np.where(middle, omega, tau) / (1 + np.maximum(depth, 0))


@jax.jit
def _drawn(law, entries, words):
    pair = [u.astype(float) for u in jax.vmap(uniforms, in_axes=(None, 0))(entries, words)]
    with mock.patch.object(piecewise_normal, "uniform_pair", return_value=pair):
        return law.sample(None), law.lam()[1], law.omega()[1]
