"""From standardised rows to a posterior: prior, start, chains."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.network import Prior, Scales, Theta, sample_prior
from . import notebook, warmstart
from .kernels import Data, GibbsKernel, InterweavedKernel
from .priors import PriorSpec, build_prior
from .runtime import numerics
from .sampling import CHAIN_AXES, Run, chain_keys, sample
from .warmstart import WarmStart

INITS = ("gradient", "prior")
SAMPLERS = ("interweaved", "gibbs")
# Sweep t of a chain uses fold_in(key, t); these t are kept for its start and its first latents.
RESERVED = (2**32 - 1, 2**32 - 2)
# Chain c uses fold_in(key(seed), c); this number is no chain's (nor the prediction's, 2**32 - 1).
FOLDS = 2**32 - 2


@dataclass(frozen=True)
class Plan:
    """Everything that, with the rows, determines the draws."""

    hidden: tuple[int, ...]
    h: PiecewiseLinear
    seed: int
    prior: str | PriorSpec = "default"
    chains: int = 4
    warmup: int = 200
    draws: int = 200
    thin: int = 1
    init: str = "gradient"
    sampler: str = "interweaved"
    dtype: str = "float32"
    warmstart: WarmStart = field(default_factory=WarmStart)

    def program(self) -> "Plan":
        """The plan less what compiled code does not depend on."""
        return replace(self, seed=0, draws=0)

    def kernel(self) -> GibbsKernel | InterweavedKernel:
        # Latents settle on a gradient start before it may move; a prior start has nothing to keep.
        settle = 0 if self.init == "prior" else min(20, self.warmup // 2)
        if self.sampler == "gibbs":
            return GibbsKernel(self.h, settle)
        return InterweavedKernel(self.h, self.warmup, settle)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Start:
    """Where the chains began: Theta and Scales (chain, ...), and the held-out loss of each fit."""

    theta: Theta
    scales: Scales
    held_out_loss: jax.Array


@dataclass(frozen=True)
class Posterior:
    """Draws of Theta (chain, draw, ...) and all that is needed to draw more."""

    plan: Plan
    start: Start
    run: Run

    @property
    def draws(self) -> Theta:
        if self.run.draws is None:
            raise ValueError("this run was stopped before the first draw was kept: resume it")
        return self.run.draws

    def _repr_html_(self) -> str:
        plan, theta = self.plan, self.start.theta
        parameters = sum(a.size // plan.chains for a in jax.tree.leaves(theta))
        layers = (theta.beta[0].shape[-1], *(a.shape[-1] for a in theta.gamma))
        pairs = {
            "chains": plan.chains,
            "draws": f"{self.run.n_draws} a chain, of {plan.draws}",
            "sweeps": f"{self.run.t} a chain: {plan.warmup} of warm-up, a draw every {plan.thin}",
            "layers": " → ".join(map(str, layers)),
            "parameters": f"{parameters:,} a draw",
            "prior": plan.prior,
            "sampler": f"{plan.sampler}, {plan.dtype}",
            "seed": plan.seed,
        }
        return notebook.facts("Posterior", pairs.items())

    def flat(self) -> Theta:
        """Draws of all chains on one axis."""
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), self.draws)


def fit(
    plan: Plan, x: np.ndarray, y: np.ndarray, on_segment: Callable[[Posterior], None] | None = None
) -> Posterior:
    """Draw from the posterior of rows x (N, P) and y (N, Q), both standardised by the caller."""
    with numerics():
        rows = jnp.asarray(x, plan.dtype), jnp.asarray(y, plan.dtype)
        start, state = jax.jit(begin, static_argnums=0)(plan.program(), plan.seed, *rows)
        return resume(Posterior(plan, start, Run(state, 0)), x, y, plan.draws, on_segment)


def resume(
    posterior: Posterior,
    x: np.ndarray,
    y: np.ndarray,
    draws: int,
    on_segment: Callable[[Posterior], None] | None = None,
) -> Posterior:
    """Continue until ``draws`` draws a chain are kept; equals a run that never stopped."""
    plan = posterior.plan
    with numerics():
        rows = jnp.asarray(x, plan.dtype), jnp.asarray(y, plan.dtype)
        data = Data(*rows, chain_priors(plan, posterior.start.theta, *rows))
        keys = chain_keys(plan.seed, plan.chains)

        def report(run: Run) -> None:
            if on_segment is not None:
                on_segment(replace(posterior, run=run))

        run = sample(
            plan.kernel(), keys, posterior.run, data, plan.warmup, draws, plan.thin, report
        )
        return replace(posterior, run=run)


def begin(plan: Plan, seed: jax.Array | int, x: jax.Array, y: jax.Array) -> tuple[Start, Any]:
    """Where the chains start, and their state there.  Pure: may be mapped over data sets."""
    keys = chain_keys(seed, plan.chains)
    key_start, key_state = jax.vmap(
        lambda key: [jax.random.fold_in(key, t) for t in RESERVED], out_axes=0
    )(keys)
    fold_key = jax.random.fold_in(jax.random.key(seed), FOLDS)
    start = find_start(plan, fold_key, key_start, x, y)
    data = Data(x, y, chain_priors(plan, start.theta, x, y))
    init = jax.vmap(plan.kernel().init, in_axes=(0, 0, 0, CHAIN_AXES))
    return start, init(key_state, start.theta, start.scales, data)


def find_start(plan: Plan, fold_key, keys, x, y) -> Start:
    """Gradient fits (one fold a chain) or prior draws; the first sweep draws rho2 and xi2."""
    widths = (x.shape[1], *plan.hidden, y.shape[1])
    if plan.init == "prior":
        prior = build_prior(plan.prior, widths, plan.dtype)
        theta, scales = jax.vmap(lambda key: sample_prior(key, prior, widths, x.dtype))(keys)
        return Start(theta, scales, jnp.full(plan.chains, jnp.nan))
    train, held = warmstart.folds(fold_key, len(x), plan.chains)
    theta, loss = warmstart.fit(keys, x, y, train, held, plan.hidden, plan.h, plan.warmstart)
    ones = Scales(jax.tree.map(jnp.ones_like, theta.beta), jax.tree.map(jnp.ones_like, theta.gamma))
    return Start(theta, ones, loss)


def chain_priors(plan: Plan, theta: Theta, x, y) -> Prior:
    """The prior with a leading chain axis; only "anchored" differs between chains."""
    widths = (x.shape[1], *plan.hidden, y.shape[1])
    if plan.prior == "anchored":
        return jax.vmap(lambda one: build_prior("anchored", widths, plan.dtype, len(x), one))(theta)
    prior = build_prior(plan.prior, widths, plan.dtype)
    return jax.tree.map(lambda a: jnp.broadcast_to(a, (plan.chains, *a.shape)), prior)
