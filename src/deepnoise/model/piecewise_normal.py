"""The law of a pre-activation given both its neighbours: a mixture of truncated normals."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .activation import PiecewiseLinear
from .random import uniform_pair
from .truncnorm import Interval, at_least, depth, interval, offset, tail

# Up to this many pieces are unrolled into one fused kernel; more are scanned.
_UNROLLED = 4


class Piece(NamedTuple):
    """TN(lam, omega^2; low, high), weight ∝ mass exp(-energy / 2); top: the number below high."""

    low: jax.Array
    high: jax.Array
    top: jax.Array
    lam: jax.Array
    omega: jax.Array
    standard: Interval
    energy: jax.Array

    @property
    def mass(self) -> jax.Array:
        return self.omega * self.standard.mass


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PiecewiseNormal:
    """p(v) ∝ N(v; m, tau2) N(target; h(v), sigma2), entry by entry.

    A mixture over the pieces j of h of TN(lam_j, omega_j^2; c_{j-1}, c_j), with weights
    pi_j ∝ N(target; b_j m + b'_j, sigma2 + b_j^2 tau2)
           [Phi((c_j - lam_j) / omega_j) - Phi((c_{j-1} - lam_j) / omega_j)].
    Paper: thm:distribution-v.
    Shapes: m, target (..., K); tau2, sigma2 (K,) or broadcastable; one dtype for all four.
    """

    m: jax.Array
    tau2: jax.Array
    target: jax.Array
    sigma2: jax.Array
    h: PiecewiseLinear = field(metadata={"static": True})

    @property
    def shape(self) -> tuple[int, ...]:
        parts = self.m, self.tau2, self.target, self.sigma2
        return jnp.broadcast_shapes(*(part.shape for part in parts))

    def lam(self) -> jax.Array:
        """lam_j, (J, ...): the centres before truncation."""
        return self._centre_and_scale(*self._columns()[:2])[0]

    def omega(self) -> jax.Array:
        """omega_j, (J, ...): the standard deviations before truncation."""
        omega = self._centre_and_scale(*self._columns()[:2])[1]
        return jnp.broadcast_to(omega, (self.h.J, *self.shape))

    def log_weight(self) -> jax.Array:
        """log pi_j, (J, ...)."""
        log_mass, _ = self._log_mass()
        return log_mass - jax.nn.logsumexp(log_mass, axis=0)

    def log_prob(self, v) -> jax.Array:
        """log p(v), normalised in closed form."""
        log_mass, lowest = self._log_mass()
        energy = self._energy(v, self.h(v)) - lowest
        return -0.5 * energy - jax.nn.logsumexp(log_mass, axis=0)

    def sample(self, key) -> jax.Array:
        """One draw an entry, inside the piece it was drawn from."""
        u, piece = (self._pick if self.h.J <= _UNROLLED else self._pick_scanning)(key)
        low, high, top, lam, omega, standard, _ = piece
        right = low - lam > lam - high
        start = jnp.where(standard.straddles, lam, jnp.where(right, low, high))
        distance = offset(u, standard)
        return jnp.clip(start + omega * jnp.where(right, distance, -distance), low, top)

    def _pick(self, key) -> tuple[jax.Array, Piece]:
        """A uniform, and the piece at another uniform's place among the cumulated weights."""
        half = self.m.dtype.type(0.5)
        u_piece, u = uniform_pair(key, self.shape, self.m.dtype)
        last = self.h.J - 1
        pieces = [
            self._piece(*constants, unbounded=last > 0 and j in (0, last))
            for j, constants in enumerate(zip(*self._constants(), strict=True))
        ]
        lowest = functools.reduce(jnp.minimum, (piece.energy for piece in pieces))
        weights = [piece.mass * jnp.exp(half * (lowest - piece.energy)) for piece in pieces]
        place = u_piece * sum(weights[1:], weights[0])
        chosen, below = pieces[0], weights[0]
        for piece, weight in zip(pieces[1:], weights[1:], strict=True):
            chosen = jax.tree.map(functools.partial(jnp.where, place >= below), piece, chosen)
            below = below + weight
        return u, chosen

    def _pick_scanning(self, key) -> tuple[jax.Array, Piece]:
        """A uniform, and a piece that each next one replaces with chance weight / total so far."""
        dtype, shape, tables = self.m.dtype.type, self.shape, self._constants()
        half = dtype(0.5)

        def meet(state, entry):
            lowest, total, chosen = state
            j, constants = entry
            piece = self._piece(*constants)
            energy, mass = jax.lax.optimization_barrier((piece.energy, piece.mass))
            least = jnp.minimum(lowest, energy)
            weight = mass * jnp.exp(half * (least - energy))
            total = total * jnp.exp(half * (least - lowest)) + weight
            u, _ = uniform_pair(key, shape, dtype, block=2 * j)
            return (least, total, jnp.where(u * total < weight, j, chosen)), None

        worst = jnp.full(shape, np.finfo(dtype).max, dtype)
        state = worst, jnp.zeros(shape, dtype), jnp.zeros(shape, np.uint32)
        steps = jnp.arange(self.h.J, dtype=np.uint32), tuple(map(jnp.asarray, tables))
        (_, _, chosen), _ = jax.lax.scan(meet, state, steps)
        u, _ = uniform_pair(key, shape, dtype, block=2 * self.h.J)
        return u, self._piece(*(jnp.asarray(table)[chosen] for table in tables))

    def _piece(self, b, b_prime, low, high, top, h_low, h_high, unbounded=False) -> Piece:
        """Energy is that at lam if the piece holds it well inside, else that at the nearer end."""
        dtype = self.m.dtype.type
        lam, omega = self._centre_and_scale(b, b_prime)
        lam = at_least(lam, np.finfo(dtype).min)
        scale = dtype(1) / omega
        t = depth((low - lam) * scale, (high - lam) * scale)
        standard = tail(t) if unbounded else interval(t, (high - low) * scale)
        right = low - lam > lam - high
        misfit = self.target - b * self.m - b_prime
        at_centre = misfit * misfit * (dtype(1) / (self.sigma2 + b * b * self.tau2))
        at_end = self._energy(jnp.where(right, low, high), jnp.where(right, h_low, h_high))
        energy = jnp.where(standard.straddles, at_centre, at_end)
        return Piece(low, high, top, lam, omega, standard, energy)

    def _log_mass(self) -> tuple[jax.Array, jax.Array]:
        """log of the integral of exp((lowest - energy) / 2) over each piece, (J, ...); lowest."""
        piece = self._piece(*self._columns())
        lowest = piece.energy.min(axis=0)
        return jnp.log(piece.mass) + 0.5 * (lowest - piece.energy), lowest

    def _centre_and_scale(self, b, b_prime) -> tuple[jax.Array, jax.Array]:
        """lam_j and omega_j, in a form that neither overflows nor cancels."""
        one = self.m.dtype.type(1)
        omega2 = one / (one / self.tau2 + b * b / self.sigma2)
        lam = omega2 / self.tau2 * self.m + b * omega2 / self.sigma2 * (self.target - b_prime)
        return lam, jnp.sqrt(omega2)

    def _energy(self, v, mean) -> jax.Array:
        """(v - m)^2 / tau2 + (target - mean)^2 / sigma2."""
        one = self.m.dtype.type(1)
        before, after = v - self.m, self.target - mean
        return before * before * (one / self.tau2) + after * after * (one / self.sigma2)

    def _constants(self) -> tuple[np.ndarray, ...]:
        """b_j, b'_j, c_{j-1}, c_j (finite ones for +-inf), the number below it, h at both ends.

        Rounded once from float64, so that neighbours agree on h at their common end.
        """
        dtype = self.m.dtype.type
        b, b_prime = np.array(self.h.b), np.array(self.h.b_prime)
        largest = np.finfo(dtype).max / 4
        edges = np.clip(self.h.edges, -largest, largest).astype(dtype)
        low, high = edges[:-1], edges[1:]
        inner = np.array((0, *self.h.c, 0))
        h_low, h_high = b * inner[:-1] + b_prime, b * inner[1:] + b_prime
        ends = low, high, np.nextafter(high, dtype(-np.inf)), h_low, h_high
        return tuple(table.astype(dtype) for table in (b, b_prime, *ends))

    def _columns(self) -> list[np.ndarray]:
        ones = (1,) * len(self.shape)
        return [table.reshape(-1, *ones) for table in self._constants()]


def merge(laws: Sequence[PiecewiseNormal]) -> PiecewiseNormal:
    """Laws with the same h side by side along the last axis, to be drawn by one sampler."""
    if len({law.h for law in laws}) != 1:
        raise ValueError("merge: the laws must share one activation")

    def join(parts):
        wide = [
            jnp.broadcast_to(part, (*part.shape[:-1], law.shape[-1]))
            for part, law in zip(parts, laws, strict=True)
        ]
        return jnp.concatenate(wide, axis=-1)

    rows = zip(*((law.m, law.tau2, law.target, law.sigma2) for law in laws), strict=True)
    return PiecewiseNormal(*map(join, rows), laws[0].h)


def sample_apart(key, law: PiecewiseNormal) -> jax.Array:
    """One draw, compiled as a computation of its own: the body of a loop that runs once.

    XLA on the CPU would otherwise repeat the sampler inside each of the many readers of v.  That
    the loop runs once is hidden from the compiler, which would inline it.
    """
    once = 1 + 0 * law.tau2.ravel()[0]
    start = jnp.zeros_like(once), jnp.zeros(law.shape, law.m.dtype)
    step = lambda carry: (carry[0] + 1, law.sample(key))  # noqa: E731
    return jax.lax.while_loop(lambda carry: carry[0] < once, step, start)[1]
