"""Gaussian full conditionals: of the post-activations u and of the weights (beta, gamma).

Factorisations run in float64 whatever the dtype of the latents, on matrices scaled to a unit
diagonal with a jitter at rounding level, so that collinear and constant columns stay positive
definite.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from .random import normals

LOG_2PI = 1.8378770664093453
# On a CPU, jaxlib 0.10.0 to 0.11.0 shares a batch of matrices that takes as many multiplications
# among the threads of a pool, and waits for them in one of these threads: two such calls at once,
# of two threads, may wait for each other for ever.
SHARED_LAPACK = 200_000


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LinearGaussian:
    """Law of rows u ~ N(center, diag(variance)) seen through target = design u + N(0, diag(noise)).

    N(Λ⁻¹ η, Λ⁻¹) with Λ = designᵀ noise⁻¹ design + variance⁻¹, kept in its natural parameters: the
    mean is computed as center + gain (target - design center), which does not cancel when a
    variance is tiny.
    Shapes: center (N, K), variance (K,), design (O, K), target (N, O), noise (O,).
    """

    center: jax.Array
    variance: jax.Array
    design: jax.Array
    target: jax.Array
    noise: jax.Array

    def whitened(self) -> tuple[jax.Array, jax.Array]:
        """A = noise^-1/2 design variance^1/2 and B = I + AᵀA = variance^1/2 Λ variance^1/2."""
        design, variance, noise = (
            a.astype(float) for a in (self.design, self.variance, self.noise)
        )
        A = design * jnp.sqrt(variance) / jnp.sqrt(noise)[:, None]
        return A, jnp.eye(A.shape[1]) + A.T @ A

    def mean(self, A: jax.Array, root: jax.Array) -> jax.Array:
        """center + gain (target - design center); ``root`` is B^-1/2 (rows)."""
        noise, variance = self.noise.astype(float), self.variance.astype(float)
        gain = jnp.sqrt(variance)[:, None] * (root.T @ (root @ A.T)) / jnp.sqrt(noise)
        residual = self.target - self.center @ self.design.T
        return self.center + residual @ gain.T.astype(residual.dtype)

    def log_prob(self, u: jax.Array) -> jax.Array:
        """Log density of each row."""
        A, B = self.whitened()
        factor, root = inverse_root(B)
        standard = ((u - self.mean(A, root)) / jnp.sqrt(self.variance)) @ (factor.astype(u.dtype))
        log_det = jnp.sum(jnp.log(jnp.diagonal(factor))) - jnp.sum(jnp.log(self.variance)) / 2
        return -jnp.sum(standard**2, -1) / 2 + log_det - u.shape[-1] * LOG_2PI / 2


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InformationGaussian:
    """N(Λ⁻¹ η, Λ⁻¹) for a batch of precisions Λ (..., D, D) and potentials η (..., D), float64."""

    precision: jax.Array
    potential: jax.Array

    def log_prob(self, value: jax.Array) -> jax.Array:
        scale, factor = scaled_cholesky(self.precision)
        mean = _solve(scale, factor, self.potential)
        standard = jnp.einsum("...ji,...j->...i", factor, (value - mean) / scale)
        log_det = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1) / scale), -1)
        return -jnp.sum(standard**2, -1) / 2 + log_det - value.shape[-1] * LOG_2PI / 2

    def at(self, z: jax.Array) -> jax.Array:
        """The draw that standard normals z (..., D) make."""
        scale, factor = scaled_cholesky(self.precision)
        whitened = solve_triangular(factor, (scale * self.potential)[..., None], lower=True)
        moved = solve_triangular(factor, whitened + z[..., None], lower=True, trans=1)
        return scale * moved[..., 0]


def scaled_cholesky(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """s and lower L with matrix = S⁻¹ L Lᵀ S⁻¹, S = diag(s) giving a unit diagonal."""
    size = matrix.shape[-1]
    scale = 1 / jnp.sqrt(jnp.diagonal(matrix, axis1=-2, axis2=-1))
    jitter = 32 * size * jnp.finfo(matrix.dtype).eps
    unit = matrix * scale[..., :, None] * scale[..., None, :] + jitter * jnp.eye(size)
    return scale, jnp.linalg.cholesky(unit, symmetrize_input=False)


def inverse_root(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Lower F with F Fᵀ = matrix, and F⁻¹."""
    scale, factor = scaled_cholesky(matrix)
    eye = jnp.broadcast_to(jnp.eye(matrix.shape[-1]), matrix.shape)
    root = solve_triangular(factor, eye, lower=True) * scale[..., None, :]
    return factor / scale[..., :, None], root


def _solve(scale, factor, potential):
    half = solve_triangular(factor, (scale * potential)[..., None], lower=True)
    return scale * solve_triangular(factor, half, lower=True, trans=1)[..., 0]


def sample_rows(key: jax.Array, laws: Sequence[LinearGaussian]) -> list[jax.Array]:
    """One draw of every law: one batch of normals for all, one factorisation for each width K."""
    pairs = [law.whitened() for law in laws]
    roots = _batched(lambda B: inverse_root(B)[1], [B[None] for _, B in pairs], lambda n: n**3)
    widths = [law.center.shape[1] for law in laws]
    rows, dtype = laws[0].center.shape[0], laws[0].center.dtype
    noise = jnp.split(normals(key, (rows, sum(widths)), dtype), np.cumsum(widths)[:-1], axis=1)
    return [
        law.mean(A, root[0]) + (z @ root[0].astype(dtype)) * jnp.sqrt(law.variance)
        for law, (A, _), root, z in zip(laws, pairs, roots, noise, strict=True)
    ]


def sample_weights(key: jax.Array, laws: Sequence[InformationGaussian]) -> list[jax.Array]:
    """One draw of every law, those of the same dimension D as one batch; one batch of normals."""
    sizes = [law.potential.size for law in laws]
    noise = jnp.split(normals(key, (sum(sizes),), float), np.cumsum(sizes)[:-1])
    parts = [(law, z.reshape(law.potential.shape)) for law, z in zip(laws, noise, strict=True)]
    return _batched(lambda part: part[0].at(part[1]), parts, lambda n: n**3 // 3)


def _batched(draw, parts, cost):
    """``draw`` of every entry of every part, parts of the same size of matrix as one batch.

    ``cost`` are its multiplications for one matrix.  The batches are chained by a data dependency:
    mapped, they may be large.
    """
    groups = defaultdict(list)
    for i, part in enumerate(parts):
        groups[jax.tree.leaves(part)[0].shape[-1]].append(i)
    results: list[Any] = [None] * len(parts)
    done = None
    for size, members in groups.items():
        merged = jax.tree.map(lambda *a: jnp.concatenate(a), *(parts[i] for i in members))
        merged = merged if done is None else after(merged, done)
        together = unshared(len(jax.tree.leaves(merged)[0]), cost(size))
        done = jax.lax.map(draw, merged, batch_size=together)
        sizes = [jax.tree.leaves(parts[i])[0].shape[0] for i in members]
        for i, result in zip(members, jnp.split(done, np.cumsum(sizes)[:-1]), strict=True):
            results[i] = result
    return results


def unshared(count: int, cost: int) -> int:
    """How many of ``count`` matrices LAPACK should be given at once, with ``cost`` for each."""
    if jax.default_backend() != "cpu":
        return count
    return min(count, max((SHARED_LAPACK - 1) // max(cost, 1), 1))


def after(tree, done: jax.Array):
    """``tree``, not to be had before ``done``: a dependency that the compiler cannot remove."""
    nothing = 0 * jnp.sum(done[(slice(1),) * done.ndim])
    return jax.tree.map(lambda a: a + nothing.astype(a.dtype), tree)
