"""What a chain draws besides the model's own unknowns: outcomes not seen exactly, missing inputs.

In the interweaved kernel the Hamiltonian move and the refresh integrate one outcome out; it is
drawn just before u_L, given the path.  Several outcomes are kept fixed there.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from ..model.activation import PiecewiseLinear
from ..model.covariates import InputLaw, Missing, draw_missing, input_prior, inputs_given
from ..model.gaussian import after
from ..model.marginal import last_covariance
from ..model.network import Arrays, Latents, Theta, outcome_mean
from ..model.outcome import Levels, Logit, Seen, Window, first_guess, inverse, log_seen, redraw

# Sweeps of the input law alone before the network is there.
FIRST_SWEEPS = 30
# Increments of the cut points are log-normal a priori: median 0.5, sd 1 on the log scale.
CUT_MEDIAN = 0.5
CUT_TRIES = 4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Data:
    """What a chain is conditioned on: the same rows for every chain, a prior for each once it has
    one.

    Missing entries of x hold any number.  ``counted`` (N,) is 0 for rows that only fill the arrays
    up (see ``Layout``), None if there are none.  Chains may have rows of their own: x, y and
    ``counted`` then have a leading chain axis.  ``steps`` are those of the trajectories of sweeps,
    in turn; the same for all chains, so that none waits for another.
    """

    x: jax.Array
    y: Seen | Levels
    prior: Any = None
    missing: Missing | None = None
    counted: jax.Array | None = None
    steps: Any = None

    def of_chain(self, c: int) -> "Data":
        """What chain c is conditioned on, of the data of all chains."""
        prior = jax.tree.map(lambda a: a[c], self.prior)
        if self.x.ndim < 3:
            return replace(self, prior=prior)
        x, y, counted = jax.tree.map(lambda a: a[c], (self.x, self.y, self.counted))
        return replace(self, x=x, y=y, prior=prior, counted=counted)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Beside:
    """What is kept of a draw besides Theta: the law of the inputs, cut points of ordered levels."""

    inputs: Any = None
    cuts: Any = None


NOTHING = Beside()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Unseen:
    """The chain's completion of the data; None where all of it was seen."""

    x: Any = None
    y: Any = None
    beside: Beside = NOTHING

    def complete(self, data: Data) -> tuple[jax.Array, Any]:
        """x and y without gaps."""
        return (data.x if self.x is None else self.x), (data.y if self.y is None else self.y)

    def seen(self, data: Data) -> Seen:
        """What was seen of y, ordered levels as windows between the cut points of now."""
        if isinstance(data.y, Levels):
            return data.y.window(self.beside.cuts)
        return data.y

    def evidence(self, data: Data) -> Seen:
        """What a move that integrates u_L out conditions on: the window of a single outcome."""
        seen = self.seen(data)
        one = isinstance(seen, Window | Logit) and jax.tree.leaves(seen)[0].shape[1] == 1
        return seen if one else self.complete(data)[1]


ALL_SEEN = Unseen()


def chain_axes(data: Data) -> Data:
    """Which parts of the data of all chains have a chain axis: 0, or None."""
    rows: Any = 0 if data.x.ndim == 3 else None
    return Data(x=rows, y=rows, prior=0, missing=None, counted=rows)  # type: ignore[arg-type]


def begin(key: jax.Array, data: Data, outcomes: int, levels: int) -> Unseen:
    """A first completion, from the input law alone; ``levels`` of an ordered outcome, or 0."""
    x, y, inputs, cuts = None, None, None, None
    dtype = data.x.dtype
    if data.missing is not None:
        x, inputs = first_inputs(key, data.x, data.missing)
    if isinstance(data.y, Levels):
        cuts = first_cuts(data.y, levels).astype(dtype)
    unseen = Unseen(x, None, Beside(inputs, cuts))
    seen = unseen.seen(data)
    if not isinstance(seen, jax.Array):
        y = first_guess(seen, outcomes, dtype)
    return replace(unseen, y=y)


def first_cuts(levels: Levels, count: int) -> jax.Array:
    """Where the shares of the levels would put the cut points of a normal outcome."""
    seen = jnp.bincount(levels.level.ravel(), length=count)
    below = (jnp.cumsum(seen)[:-1] + 0.5) / (levels.level.size + 1)
    places = jax.scipy.special.ndtri(below)
    return places - places[0] + 1e-3 * jnp.arange(count - 1)


def first_inputs(key: jax.Array, x: jax.Array, missing: Missing) -> tuple[jax.Array, InputLaw]:
    """Missing entries and input law after sweeps of their own."""
    prior = input_prior(x.shape[1])

    def sweep(t, carry):
        x, _ = carry
        key_law, key_x = jax.random.split(jax.random.fold_in(key, t))
        law = inputs_given(x, prior).sample(key_law)
        drawn = draw_missing(key_x, 1, x[missing.rows], missing.mask, law)[0]
        return x.at[missing.rows].set(drawn), law

    law = InputLaw(jnp.zeros(x.shape[1], float), jnp.eye(x.shape[1], dtype=float))
    return jax.lax.fori_loop(0, FIRST_SWEEPS, sweep, (x, law))


def propose_x(key: jax.Array, unseen: Unseen, data: Data, count: int) -> jax.Array | None:
    """Missing entries given the observed entries of their row alone, ``count`` times."""
    if data.missing is None:
        return None
    rows, mask = data.missing.rows, data.missing.mask
    drawn = draw_missing(key, count, unseen.x[rows], mask, unseen.beside.inputs)
    return jax.vmap(lambda part: unseen.x.at[rows].set(part))(drawn)


def draw_y(key: jax.Array, mean: jax.Array, cov: jax.Array, unseen: Unseen, data: Data) -> Unseen:
    """y ~ N(mean, cov) within what was seen of it, cut points before it with y integrated out."""
    if unseen.y is None:
        return unseen
    key_cuts, key_y = jax.random.split(key)
    if isinstance(data.y, Levels):
        cuts = move_cuts(key_cuts, mean, cov[0], data.y, unseen.beside.cuts)
        unseen = replace(unseen, beside=replace(unseen.beside, cuts=cuts))
    seen: Any = unseen.seen(data)
    return replace(unseen, y=redraw(key_y, mean, inverse(cov), seen, unseen.y))


def draw_y_above(key, theta: Theta, v: Arrays, unseen: Unseen, data: Data, h: PiecewiseLinear):
    """y given the path v_0..v_{L-1}, with u_L integrated out."""
    top = h(v[-1]) if theta.L else unseen.complete(data)[0]
    return draw_y(key, outcome_mean(theta, top), last_covariance(theta), unseen, data)


def move_cuts(key, mean, variance, levels: Levels, cuts) -> jax.Array:
    """Random walks of the log increments of cut points, y integrated out; the first stays 0."""
    if cuts.shape[0] < 2:
        return cuts

    def log_density(log_steps):
        placed = jnp.concatenate([jnp.zeros(1, cuts.dtype), jnp.cumsum(jnp.exp(log_steps))])
        fit = jnp.sum(log_seen(mean, variance, levels.window(placed)))
        return fit - jnp.sum((log_steps - jnp.log(CUT_MEDIAN)) ** 2) / 2

    def attempt(i, carry):
        log_steps, now = carry
        key_step, key_accept = jax.random.split(jax.random.fold_in(key, i))
        size = jnp.asarray(2.0, cuts.dtype) / jnp.sqrt(mean.shape[0] + 4.0).astype(cuts.dtype)
        trial = log_steps + size * jax.random.normal(key_step, log_steps.shape, cuts.dtype)
        then = log_density(trial)
        accept = jnp.log(jax.random.uniform(key_accept, (), cuts.dtype)) < then - now
        return jnp.where(accept, trial, log_steps), jnp.where(accept, then, now)

    log_steps = jnp.log(jnp.diff(cuts))
    log_steps, _ = jax.lax.fori_loop(0, CUT_TRIES, attempt, (log_steps, log_density(log_steps)))
    return jnp.concatenate([jnp.zeros(1, cuts.dtype), jnp.cumsum(jnp.exp(log_steps))])


def complete(key: jax.Array, theta: Theta, latents: Latents, unseen: Unseen, data: Data) -> Unseen:
    """y given u_L, missing x given v_0, and the input law given x: the blocks after a sweep."""
    key_y, key_x, key_law = jax.random.split(key, 3)
    u = (unseen.complete(data)[0], *latents.u)
    unseen = draw_y(key_y, outcome_mean(theta, u[-1]), jnp.diag(theta.tau2[-1]), unseen, data)
    if unseen.x is None or data.missing is None:
        return unseen
    rows, mask = data.missing.rows, data.missing.mask
    v = (*latents.v, unseen.complete(data)[1])
    # All factorisations of the sweep come first: batched ones must not run at the same time.
    x = after(unseen.x, jnp.stack([beta[0, 0] for beta in theta.beta]).sum())
    given = theta.beta[0], theta.gamma[0], theta.tau2[0], v[0][rows]
    drawn = draw_missing(key_x, 1, x[rows], mask, unseen.beside.inputs, *given)[0]
    x = x.at[rows].set(drawn)
    law = inputs_given(x, input_prior(x.shape[1])).sample(key_law)
    return replace(unseen, x=x, beside=replace(unseen.beside, inputs=law))
