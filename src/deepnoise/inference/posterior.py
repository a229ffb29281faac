"""From standardised rows to a posterior: prior, start, chains."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from ..model.activation import PiecewiseLinear
from ..model.covariates import Missing
from ..model.network import Prior, Scales, Theta, sample_prior
from . import notebook, unseen, warmstart
from .kernels import GibbsKernel, InterweavedKernel, tuned_again
from .priors import PriorSpec, build_prior, first_scales, with_utility_noise
from .runtime import cores, in_threads, numerics, stacked, uninterrupted
from .sampling import SEGMENT, Run, chain_keys, into_room, next_size, with_room
from .sharding import ONE_DEVICE, Layout
from .streams import COMPLETION, FOLDS, LATENTS, START
from .unseen import Beside, Data, chain_axes
from .warmstart import WarmStart

INITS = ("gradient", "prior")
SAMPLERS = ("interweaved", "gibbs")
OUTCOMES = ("real", "ordered", "choice")
LINKS = ("probit", "logit")


@dataclass(frozen=True)
class Plan:
    """Everything that, with the rows, determines the draws.

    ``outcome`` is "real", "ordered" (``levels`` of one) or "choice" (of one among ``levels``);
    ``link`` is the noise through which levels or the choice are seen.  The kernel is tuned in
    ``warmup`` sweeps; ``burn`` sweeps, if more, are done before a draw is kept.  Columns of x from
    ``sites[0]`` up to ``sites[1]`` are sites.  With ``folds``, chain c is given no row of fold
    c mod ``folds``.
    """

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
    outcome: str = "real"
    levels: int = 0
    link: str = "probit"
    burn: int = 0
    sites: tuple[int, int] | None = None
    folds: int = 0

    @property
    def before(self) -> int:
        """Sweeps before the first draw."""
        return max(self.warmup, self.burn)

    @property
    def noise_is_unit(self) -> bool:
        """Whether the noise of y sets its unit; logistic noise does so by itself."""
        return self.outcome != "real" and self.link == "probit"

    def widths(self, x, y) -> tuple[int, ...]:
        """(P, K_0, ..., K_{L-1}, Q) for rows x and what was seen of y."""
        seen = {"real": jax.tree.leaves(y)[0].shape[-1], "ordered": 1, "choice": self.levels}
        return (x.shape[-1], *self.hidden, seen[self.outcome])

    def program(self) -> "Plan":
        """The plan less what compiled code does not depend on."""
        return replace(self, seed=0, draws=0, thin=1, burn=0, folds=0)

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
            raise ValueError(
                "this fit was stopped before its first draw; call resume to continue it"
            )
        return self.run.draws

    def _layers(self) -> str:
        theta = self.start.theta
        return " → ".join(map(str, (theta.beta[0].shape[-1], *(a.shape[-1] for a in theta.gamma))))

    def __repr__(self) -> str:
        chains = f"{self.plan.chains} chains of {self.run.n_draws} draws"
        return f"Posterior({chains}, layers {self._layers()})"

    def _repr_html_(self) -> str:
        plan = self.plan
        parameters = sum(a.size // plan.chains for a in jax.tree.leaves(self.start.theta))
        pairs = {
            "chains": plan.chains,
            "draws": f"{self.run.n_draws} a chain, of {plan.draws}",
            "sweeps": f"{self.run.t} a chain; after {plan.before}, a draw every {plan.thin}",
            "layers": self._layers(),
            "parameters": f"{parameters:,} a draw",
            "prior": plan.prior,
            "sampler": f"{plan.sampler}, {plan.dtype}",
            "seed": plan.seed,
        }
        return notebook.facts("Posterior", pairs.items())

    @property
    def steps(self) -> int:
        """Steps of a trajectory; 0 of a sampler without any."""
        kernel = self.plan.kernel()
        if not isinstance(kernel, InterweavedKernel):
            return 0
        return kernel.best_length(self.run.state.tuning.jumps)

    @property
    def sweeps_left(self) -> int:
        """Sweeps until the plan's draws are kept."""
        plan, run = self.plan, self.run
        before = -(-max(0, plan.before - run.t) // plan.thin)
        return (before + plan.draws - run.n_draws) * plan.thin

    def longer(self, close: bool = False) -> "Posterior":
        """The same chains with a round to come.

        If they are ``close`` to settling, every second draw is kept, and as many will follow at
        that distance.  Else all are burn-in, the round doubles the length of the chains, and the
        kernel is tuned again in its first quarter.
        """
        if close:
            return self._sparser()
        t = self.run.t
        burn = t + t // 4
        plan = replace(self.plan, burn=burn, thin=max(1, (2 * t - burn) // self.plan.draws))
        with numerics():
            state = tuned_again(self.run.state, t, burn)
        return replace(self, plan=plan, run=Run(state, t, layout=self.run.layout))

    def _sparser(self) -> "Posterior":
        """Every second draw, up to the last, with room for as many sweeps as they span."""
        plan, count = self.plan, self.run.n_draws
        kept = self.only(slice((count - 1) % 2, None, 2))
        return replace(kept, plan=replace(plan, burn=plan.before, thin=2 * plan.thin))

    def only(self, chosen: Any) -> "Posterior":
        """The same chains with some of their draws, and of what was drawn beside them."""
        kept = self.run.draws, self.run.beside
        draws, beside = jax.tree.map(lambda a: a[:, chosen], kept)
        return replace(self, run=replace(self.run, draws=draws, beside=beside))

    def flat(self) -> Theta:
        """Draws of all chains on one axis."""
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), self.draws)


class Backend(Protocol):
    """Where the rows of a fit lie, and how its chains are drawn there."""

    def advance(self, run: Run, count: int, thin: int, /) -> tuple[Any, tuple[Theta, Beside], int]:
        """Go on by at most ``count`` draws, ``thin`` sweeps apart.

        The state after them, the draws (chain, draw, ...), and how many they are.
        """


@numerics()
def draw_more(
    posterior: Posterior,
    backend: Backend,
    draws: int,
    on_segment: Callable[[Posterior], None] | None = None,
) -> Posterior:
    """The posterior once its warm-up is done and ``draws`` draws a chain are kept.

    ``on_segment`` sees the posterior after every segment (progress, checkpoints).  Ctrl-C waits for
    the end of a segment, and ends the run early with everything drawn so far, if anything was kept.
    """
    plan, room, size = posterior.plan, None, 1
    try:
        while (warming := posterior.run.t < plan.before) or posterior.run.n_draws < draws:
            run = posterior.run
            # A number that is no multiple of thin overshoots by less than one draw's sweeps.
            left = -(-(plan.before - run.t) // plan.thin) if warming else draws - run.n_draws
            began = time.perf_counter()
            with uninterrupted():
                state, new, count = backend.advance(run, min(size, left, SEGMENT), plan.thin)
                kept = run.draws, run.beside
                if not warming:
                    room = room or with_room(run, new, draws)
                    kept = into_room(room, new, run.n_draws, count)
                run = Run(state, run.t + count * plan.thin, *kept, run.layout)
                posterior = replace(posterior, run=run)
            if on_segment is not None:
                on_segment(posterior)
            size = next_size(size, count, time.perf_counter() - began)
    except KeyboardInterrupt:
        # Several processes cannot know that all were interrupted after the same segment.
        if not posterior.run.n_draws or posterior.run.layout.crew.size > 1:
            raise
    return posterior


def begin(
    plan: Plan, seed: jax.Array | int, x: jax.Array, y: Any, missing: Missing | None = None
) -> tuple[Start, Any]:
    """Where the chains start, and their state there.  Pure: may be mapped over data sets."""
    start, complete = begin_start(plan, seed, Data(x, y, missing=missing))
    data = Data(x, y, chain_priors(plan, start.theta, x, y), missing)
    begun = {"start": start, "unseen": complete}
    return start, begin_state(plan, ONE_DEVICE, seed, begun, data)


def begin_start(plan: Plan, seed, rows: Data) -> tuple[Start, unseen.Unseen]:
    """Where the chains start, and what each thinks of the data that were not seen."""
    one = partial(begin_chain, plan, seed)
    return jax.vmap(one, in_axes=(0, chain_axes(rows)))(jnp.arange(plan.chains), rows)


def begin_chain(plan: Plan, seed, c, rows: Data) -> tuple[Start, unseen.Unseen]:
    """The same of one chain."""
    key = jax.random.fold_in(jax.random.key(seed), c)
    outcomes = plan.widths(rows.x, rows.y)[-1]
    complete = unseen.begin(jax.random.fold_in(key, COMPLETION), rows, outcomes, plan.levels)
    return find_start(plan, seed, c, jax.random.fold_in(key, START), rows, complete), complete


_begin_start = jax.jit(begin_start, static_argnums=0)
_begin_chain = jax.jit(begin_chain, static_argnums=0)


def starts(plan: Plan, rows: Data) -> tuple[Start, unseen.Unseen]:
    """``begin_start`` as one program or, on a CPU, each chain by itself.

    On one device, however many there are: gradient fits use a few rows at a time, and other sums
    than those of one device would lead them elsewhere.
    """
    program, seed = plan.program(), plan.seed
    if jax.default_backend() != "cpu":
        return _begin_start(program, seed, rows)
    one = lambda c: _begin_chain(program, seed, c, rows.of_chain(c))  # noqa: E731
    # The first compiles, for all.
    return stacked([one(0), *in_threads(one, range(1, plan.chains), cores())])


def begin_state(plan: Plan, layout: Layout, seed, begun: dict[str, Any], data: Data) -> Any:
    """The state of every chain at its start."""
    begun, data = layout.trimmed(begun, data)
    start, complete = begun["start"], begun["unseen"]
    init = jax.vmap(plan.kernel().init, in_axes=(0, 0, 0, chain_axes(data), 0))
    keys = jax.vmap(partial(jax.random.fold_in, data=LATENTS))(chain_keys(seed, plan.chains))
    return layout.padded(init(keys, start.theta, start.scales, data, complete))


def find_start(plan: Plan, seed, c, key, rows: Data, complete: unseen.Unseen) -> Start:
    """A gradient fit of a fold, or a draw of the prior; the first sweep draws rho2 and xi2."""
    x, widths = rows.x, plan.widths(rows.x, rows.y)
    if plan.init == "prior":
        theta, scales = sample_prior(key, build_plan_prior(plan, widths), widths, x.dtype)
        return Start(theta, scales, jnp.array(jnp.nan))
    fold_key = jax.random.fold_in(jax.random.key(seed), FOLDS)
    train, held = warmstart.fold(fold_key, len(x), c)
    x, y = complete.complete(rows)[0], complete.seen(rows)
    theta, loss = warmstart.fit(key, x, y, train, held, widths, plan.h, plan.warmstart)
    return Start(theta, first_scales(plan.prior, plan.sites, theta), loss)


def build_plan_prior(plan: Plan, widths: tuple[int, ...], rows: int = 0, start=None) -> Prior:
    """The plan's prior; the noise of utilities seen by probit is their unit.

    By default weights of classes are wide: utilities may be many times their noise.
    """
    spec = "wide" if plan.prior == "default" and plan.outcome != "real" else plan.prior
    prior = build_prior(spec, widths, plan.dtype, rows, start, plan.sites)
    return with_utility_noise(prior) if plan.noise_is_unit else prior


def chain_priors(plan: Plan, theta: Theta, x, y) -> Prior:
    """The prior with a leading chain axis; only "anchored" differs between chains."""
    widths = plan.widths(x, y)
    if plan.prior == "anchored":
        return jax.vmap(lambda one: build_plan_prior(plan, widths, len(x), one))(theta)
    prior = build_plan_prior(plan, widths)
    return jax.tree.map(lambda a: jnp.broadcast_to(a, (plan.chains, *a.shape)), prior)
