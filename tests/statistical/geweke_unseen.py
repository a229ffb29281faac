"""Geweke's test with data that are not wholly seen: what is seen is redrawn given all the rest."""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.kernels import InterweavedKernel, InterweavedState
from deepnoise.inference.unseen import CUT_MEDIAN, Beside, Data, Unseen
from deepnoise.model.covariates import Missing, draw_missing, input_prior
from deepnoise.model.network import sample_prior, simulate
from deepnoise.model.outcome import Choice, Levels, LogitChoice, LogitLevels, Window
from deepnoise.model.random import normals

from ..statistics import rejected
from .geweke import Net, Size, _compare, fixed_tuning, redraw_y

MASK = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], bool)


@dataclass(frozen=True)
class Blind:
    """A net, and what is seen of y (exact, window, a class, ...) and of x (gaps or not)."""

    net: Net
    outcome: str = "exact"
    missing: bool = False

    def see(self, key, y: jax.Array, cuts) -> jax.Array | Window | Levels | Choice:
        """The first row is seen exactly, the others censored above 0.3 and rounded below.

        Levels are cut from y itself, or from y plus logistic noise.
        """
        if self.outcome == "window":
            floor = jnp.floor(2 * y) / 2
            lower, upper = jnp.where(y > 0.3, 0.3, floor), jnp.where(y > 0.3, jnp.inf, floor + 0.5)
            upper = jnp.where((y <= 0.3) & (upper > 0.3), 0.3, upper)
            first = jnp.arange(len(y))[:, None] == 0
            return Window(jnp.where(first, y, lower), jnp.where(first, y, upper))
        if self.outcome == "gaps":
            gap = (jnp.arange(y.size) % 3 == 1).reshape(y.shape)
            return Window(jnp.where(gap, -jnp.inf, y), jnp.where(gap, jnp.inf, y))
        if self.outcome == "levels":
            return Levels(jnp.searchsorted(cuts, y[:, 0])[:, None])
        if self.outcome == "logit":
            noisy = y[:, 0] + jax.random.logistic(key, (len(y),), y.dtype)
            return LogitLevels(jnp.searchsorted(cuts, noisy)[:, None])
        if self.outcome == "softmax":
            return LogitChoice(jax.random.categorical(key, y))
        return Choice(jnp.argmax(y, axis=1)) if self.outcome == "choice" else y

    def draw(self, key) -> tuple[GibbsState, jax.Array, jax.Array]:
        """(state, x, y) from the model."""
        keys = jax.random.split(key, 5)
        x, inputs, cuts = self.net.x(), None, None
        if self.missing:
            inputs = input_prior(x.shape[1]).sample(keys[0])
            root = jnp.linalg.cholesky(jnp.linalg.inv(inputs.precision))
            x = inputs.mu + normals(keys[1], x.shape, float) @ root.T
        if self.outcome in ("levels", "logit"):
            steps = CUT_MEDIAN * jnp.exp(normals(keys[2], (1,), float))
            cuts = jnp.concatenate([jnp.zeros(1), jnp.cumsum(steps)])
        theta, scales = sample_prior(keys[3], self.net.prior(), self.net.widths, float)
        latents, y = simulate(keys[4], theta, x, self.net.h)
        unseen = Unseen(
            x if self.missing else None,
            None if self.outcome == "exact" else y,
            Beside(inputs, cuts),
        )
        return GibbsState(theta, scales, latents, unseen), x, y

    def data(self, x, seen) -> Data:
        missing = Missing(jnp.arange(len(x)), jnp.asarray(MASK)) if self.missing else None
        return Data(x, seen, self.net.prior(), missing)

    def redraw(self, key, state: GibbsState, x, y):
        """New data given parameters and latents: y whole, and the entries of x that were seen."""
        key_y, key_x, key_seen = jax.random.split(key, 3)
        theta, unseen = state.theta, state.unseen
        if self.missing:
            v = (*state.latents.v, y if unseen.y is None else unseen.y)
            given = theta.beta[0], theta.gamma[0], theta.tau2[0], v[0]
            x = draw_missing(key_x, 1, unseen.x, jnp.asarray(~MASK), unseen.beside.inputs, *given)
            x = x[0]
            unseen = replace(unseen, x=x)
        y = redraw_y(key_y, state, x)
        unseen = unseen if unseen.y is None else replace(unseen, y=y)
        seen = self.see(key_seen, y, unseen.beside.cuts)
        return replace(state, unseen=unseen), x, y, seen


def drift(key, kernel, blind: Blind, size: Size) -> dict[str, float]:
    """The comparisons that fail at the declared rate: empty for a right kernel."""
    key_joint, key_chain = jax.random.split(key)
    R = size.replicates
    joint = jax.jit(jax.vmap(blind.draw))(jax.random.split(key_joint, 5 * R))
    start = jax.tree.map(lambda a: a[:R], joint)
    chains = jax.jit(jax.vmap(partial(chain, kernel=kernel, blind=blind, sweeps=size.sweeps)))
    end = chains(jax.random.split(key_chain, R), *start)
    before, after = (np.asarray(functionals(*part)) for part in (joint, end))
    return rejected(
        {
            f"{i} {kind}": p
            for i in range(before.shape[1])
            for kind, p in _compare(before[:R, i], after[:, i], before[R:, i]).items()
        }
    )


def chain(key, state: GibbsState, x, y, kernel, blind: Blind, sweeps: int):
    """Two steps for each new data: what a step draws last must be seen by another."""

    def sweep(t, carry):
        state, x, y, seen = carry
        key_step, key_data = jax.random.split(jax.random.fold_in(key, t))
        data = blind.data(x, seen)
        if isinstance(kernel, InterweavedKernel):
            full = InterweavedState(state, fixed_tuning(kernel, state))
            state = kernel.step(key_step, t, full, data).gibbs
        else:
            state = kernel.step(key_step, t, state, data)
        fresh = blind.redraw(key_data, state, x, y)
        return jax.tree.map(lambda a, b: jnp.where(t % 2, a, b), fresh, (state, x, y, seen))

    seen = blind.see(jax.random.fold_in(key, sweeps), y, state.unseen.beside.cuts)
    return jax.lax.fori_loop(0, sweeps, sweep, (state, x, y, seen))[:3]


@jax.jit
def functionals(states: GibbsState, xs, ys):
    """All coordinates, and products that see the dependence of neighbours; (replicate, number)."""

    def one(state, x, y):
        theta, u = state.theta, (x, *state.latents.u)
        v = (*state.latents.v, y)
        products = [v[l].T @ u[l] for l in range(theta.L + 1)]
        errors = [
            (v[l] - u[l] @ theta.beta[l].T - theta.gamma[l]) / jnp.sqrt(theta.tau2[l])
            for l in range(theta.L + 1)
        ]
        forms = []
        if state.unseen.beside.inputs is not None:
            law = state.unseen.beside.inputs
            forms = [jnp.einsum("ni,ij,nj->n", x - law.mu, law.precision, x - law.mu)]
        return ravel_pytree((theta, state.latents, x, y, state.unseen.beside, products, errors,
                             forms))[0]  # fmt: skip

    return jax.vmap(one)(states, xs, ys)
