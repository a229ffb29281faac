"""Markov kernels: what one step of a chain is.  Kernels are hashable: compiled code is reused."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..model.activation import PiecewiseLinear
from ..model.network import Scales, Theta
from ..model.outcome import Seen
from . import gibbs, interweave
from .gibbs import GibbsState
from .interweave import Position
from .refresh import refresh
from .streams import UNSEEN
from .unseen import ALL_SEEN, Beside, Data, complete, draw_y_above, propose_x

# Factors of the step size: short steps free a chain whose surroundings have become rough.
JITTER = (0.2, 1.2)
# Squared scores: sweeps that their mean remembers, and what stands for a score of 0.
MEMORY = 50
LEAST_SCORE2 = 1e-6
# Steps of a trajectory to choose from, how many cost as much as the rest of a sweep, and the trials
# of each length that its mean jump remembers.
LENGTHS = (50, 100, 200)
REST = 50
JUMP_MEMORY = 20


@dataclass(frozen=True)
class GibbsKernel:
    """The paper's Algorithm 1; the first ``settle`` sweeps redraw the latents only."""

    h: PiecewiseLinear
    settle: int = 20
    rows: int | None = None

    def init(self, key, theta: Theta, scales: Scales, data: Data, unseen=ALL_SEEN) -> GibbsState:
        return gibbs.init(key, theta, scales, unseen.complete(data)[0], self.h, unseen)

    def step(self, key: jax.Array, t: jax.Array, state: GibbsState, data: Data) -> GibbsState:
        hold = t < self.settle
        x, y = state.unseen.complete(data)
        given = data.prior, self.h, hold, self.rows, data.counted
        swept = gibbs.sweep(key, state, x, y, *given)
        return _completed(jax.random.fold_in(key, UNSEEN), swept, data)

    def theta(self, state: GibbsState) -> Theta:
        return state.theta

    def beside(self, state: GibbsState) -> Beside:
        return state.unseen.beside


def _completed(key, state: GibbsState, data: Data) -> GibbsState:
    return replace(state, unseen=complete(key, state.theta, state.latents, state.unseen, data))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tuning:
    """Step size (dual averaging), mean log squared scores and mean squared jump of each length.

    The step size is learnt in sweeps t of the ``window``, first <= t < last, the others until
    ``mass_until``; then they are kept.  A length that was never tried has a jump of NaN.
    """

    step_size: Any
    log_score2: jax.Array
    jumps: jax.Array
    acceptance: jax.Array
    window: Any

    @property
    def mass_until(self) -> Any:
        """The sweep from which the mass is kept: of a chain, or of the first of all chains."""
        first, last = self.window.reshape(-1, 2)[0]
        return first + 4 * (last - first) // 5


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InterweavedState:
    gibbs: GibbsState
    tuning: Tuning


def tuned_again(state: Any, first: int, last: int) -> Any:
    """The state of all chains, with tuning in a window to come; plain Gibbs has none."""
    if not isinstance(state, InterweavedState):
        return state
    window = jnp.broadcast_to(jnp.array([first, last]), state.tuning.window.shape)
    return replace(state, tuning=replace(state.tuning, window=window))


@dataclass(frozen=True)
class InterweavedKernel:
    """A Gibbs sweep after a non-centred Hamiltonian move and a refresh of the noise paths.

    The mass matrix is the diagonal of the Fisher information, estimated by geometric means of
    squared scores in the first four fifths of a window of tuning (scores of the start may be 10⁴
    times those of later, and would spoil arithmetic means for good); in the last fifth the step
    size is tuned for that mass.  Each coordinate is drawn halfway to the mean of its tensor: a mass
    that is too small in a few of thousands of coordinates would reject nearly every move once it is
    kept.  While the mass is learnt, trajectories of all ``lengths`` are tried in turn; then chains
    keep that with the largest squared jump, in units of the mass and for its time.

    A gradient takes ``block`` rows at a time, or all if 0.
    """

    h: PiecewiseLinear
    warmup: int
    settle: int = 20
    lengths: tuple[int, ...] = LENGTHS
    tries: int = 4
    target: float = 0.75
    block: int = 0

    def init(
        self, key, theta: Theta, scales: Scales, data: Data, unseen=ALL_SEEN
    ) -> InterweavedState:
        start = gibbs.init(key, theta, scales, unseen.complete(data)[0], self.h, unseen)
        size = sum(a.size for a in jax.tree.leaves((theta, scales.noise, scales.weight)))
        dtype = theta.gamma[0].dtype
        step_size = jax.tree.map(lambda a: jnp.asarray(a, dtype), self._dual_averaging()[0](0.02))
        window, jumps = jnp.array([0, self.warmup]), jnp.full(len(self.lengths), jnp.nan, dtype)
        tuning = Tuning(step_size, jnp.zeros(size, dtype), jumps, jnp.zeros((), dtype), window)
        return InterweavedState(start, tuning)

    def step(self, key, t, state: InterweavedState, data: Data) -> InterweavedState:
        key_move, key_paths, key_u, key_sweep = jax.random.split(key, 4)
        key_x, key_y, key_rest = jax.random.split(jax.random.fold_in(key, UNSEEN), 3)
        hold, old, unseen = t < self.settle, state.gibbs, state.gibbs.unseen
        (x, y), evidence = unseen.complete(data), unseen.evidence(data)
        noises = interweave.standardise(old.theta, *old.latents.clamp(x, y), self.h)
        moved, tuning = self.move(key_move, t, state, noises, x, evidence, data)
        theta, scales = gibbs.keep_if(hold, (old.theta, old.scales), moved)
        others = propose_x(key_x, unseen, data, self.tries)
        paths, x = refresh(key_paths, theta, noises, x, evidence, self.h, self.tries, others)
        unseen = unseen if unseen.x is None else replace(unseen, x=x)
        unseen = draw_y_above(key_y, theta, paths.v, unseen, data, self.h)
        y = unseen.complete(data)[1]
        latents = interweave.redraw_last(key_u, theta, paths, y, self.h)
        start = GibbsState(theta, scales, latents, unseen)
        given = data.prior, self.h, hold, None, data.counted
        swept = gibbs.sweep(key_sweep, start, x, y, *given)
        return InterweavedState(_completed(key_rest, swept, data), tuning)

    def move(
        self, key, t, state: InterweavedState, noises, x, y: Seen, data: Data
    ) -> tuple[tuple[Theta, Scales], Tuning]:
        """A Hamiltonian trajectory on Theta and the learnt scales given the standardised noises."""
        from blackjax.mcmc import hmc

        theta, scales, tuning = state.gibbs.theta, state.gibbs.scales, state.tuning
        sites = data.prior.sites
        flat, position = ravel_pytree(interweave.to_position(theta, scales, sites))

        def log_density(flat):
            given = noises, x, y, data.prior, self.h, data.counted, self.block
            return interweave.log_density(position(flat), *given)

        start = hmc.init(flat, log_density)
        tuning = self._learn_mass(t, tuning, start.logdensity_grad)
        size = jnp.exp(
            jnp.where(
                t < tuning.window[1],
                tuning.step_size.log_step_size,
                tuning.step_size.log_step_size_avg,
            )
        )
        key_jitter, key_hmc = jax.random.split(key)
        size = size * jax.random.uniform(key_jitter, (), size.dtype, *JITTER)
        turn, inverse_mass = t % len(self.lengths), _inverse_mass(tuning, position)
        steps = self.lengths[0] if data.steps is None else data.steps[turn]
        end, info = hmc.build_kernel()(key_hmc, start, log_density, size, inverse_mass, steps)
        tuning = self._learn_step(t, tuning, info.acceptance_rate)
        if data.steps is not None:
            jump = jnp.sum((end.position - flat) ** 2 / inverse_mass)
            tuning = self._learn_jump(t, tuning, jump)
        return interweave.from_position(position(end.position), scales, sites), tuning

    def _learn_mass(self, t, tuning: Tuning, score) -> Tuning:
        """The mass with one more score; once it is kept, the step size is tuned afresh."""
        rate = jnp.maximum(1 / (t + 1.0), 1 / MEMORY).astype(score.dtype)
        old = tuning.log_score2
        # Squares that overflow are left out: one would stop the move for good.
        new = old + rate * (jnp.log(score**2 + LEAST_SCORE2) - old)
        log_score2 = jnp.where((t < tuning.mass_until) & jnp.isfinite(new), new, old)
        learnt = tuning.step_size
        afresh = self._dual_averaging()[0](jnp.exp(learnt.log_step_size_avg))
        restart = (t == tuning.mass_until) & (t < tuning.window[1])
        step_size = jax.tree.map(
            lambda a, b: jnp.where(restart, jnp.asarray(b, a.dtype), a), learnt, afresh
        )
        return replace(tuning, step_size=step_size, log_score2=log_score2)

    def _learn_step(self, t, tuning: Tuning, acceptance) -> Tuning:
        learnt = self._dual_averaging()[1](tuning.step_size, acceptance)
        learning = (t >= self.settle) & (t < tuning.window[1])
        step_size = jax.tree.map(
            lambda a, b: jnp.where(learning, b, a).astype(a.dtype), tuning.step_size, learnt
        )
        acceptance = acceptance.astype(tuning.acceptance.dtype)
        return replace(tuning, step_size=step_size, acceptance=acceptance)

    def _learn_jump(self, t, tuning: Tuning, jump: jax.Array) -> Tuning:
        """The mean squared jump of a length with one more trial."""
        turn, trials = t % len(self.lengths), (t - tuning.window[0]) // len(self.lengths)
        old, rate = tuning.jumps[turn], jnp.maximum(1 / (trials + 1.0), 1 / JUMP_MEMORY)
        new = jnp.where(jnp.isnan(old), jump, old + rate.astype(jump.dtype) * (jump - old))
        learning = (t >= self.settle) & (t < tuning.mass_until) & jnp.isfinite(new)
        new = jnp.where(learning, new, old)
        return replace(tuning, jumps=tuning.jumps.at[turn].set(new))

    def best_length(self, jumps: Any) -> int:
        """The length with the largest squared jump for its time, of all chains (chain, length)."""
        worth = np.asarray(jumps, float).mean(axis=0) / (np.array(self.lengths) + REST)
        return self.lengths[int(np.argmax(np.where(np.isnan(worth), -1.0, worth)))]

    def steps(self, tuning: Tuning, t: int) -> tuple[np.ndarray, int]:
        """Steps of the trajectories from sweep t on, in turn, and for how many sweeps.

        ``tuning`` is that of all chains, in memory.
        """
        if t < tuning.mass_until:
            return np.array(self.lengths), int(tuning.mass_until) - t
        return np.full(len(self.lengths), self.best_length(tuning.jumps)), sys.maxsize

    def _dual_averaging(self):
        # Imported here, as hmc is: predictions need no blackjax, and it takes half a second.
        from blackjax.adaptation.step_size import dual_averaging_adaptation

        return dual_averaging_adaptation(self.target)

    def theta(self, state: InterweavedState) -> Theta:
        return state.gibbs.theta

    def beside(self, state: InterweavedState) -> Beside:
        return state.gibbs.unseen.beside


def _inverse_mass(tuning: Tuning, position: Callable[[jax.Array], Position]) -> jax.Array:
    """From the flat squared scores; ``position`` says which belong to one tensor."""
    pooled = jax.tree.map(lambda a: (a + jnp.mean(a)) / 2, position(jnp.exp(tuning.log_score2)))
    return 1 / (ravel_pytree(pooled)[0] + 1e-3)
