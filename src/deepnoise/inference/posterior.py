"""From standardised rows to a posterior: prior, start, chains."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..model.activation import PiecewiseLinear
from ..model.covariates import Missing
from ..model.network import Prior, Scales, Theta, sample_prior
from . import notebook, unseen, warmstart
from .kernels import GibbsKernel, InterweavedKernel, tuned_again
from .priors import PriorSpec, build_prior, first_scales, with_utility_noise
from .runtime import numerics
from .sampling import SEGMENT, Run, advance, chain_keys, into_room, next_size, with_room
from .sharding import ONE_DEVICE, Layout
from .streams import COMPLETION, FOLDS, LATENTS, START
from .unseen import Data, chain_axes
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
        """The same chains with a round to come that about doubles their length.

        If they are ``close`` to settling, every few draws are kept, and others will follow at that
        distance.  Else all are burn-in, and the kernel is tuned again in the round's first quarter.
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
        """Every few draws, up to the last, with room for about as many sweeps as were done."""
        plan, count = self.plan, self.run.n_draws
        every = 1 + max(1, round(self.run.t / (plan.thin * count)))
        kept = self.only(slice((count - 1) % every, None, every))
        return replace(kept, plan=replace(plan, burn=plan.before, thin=plan.thin * every))

    def only(self, chosen: Any) -> "Posterior":
        """The same chains with some of their draws, and of what was drawn beside them."""
        kept = self.run.draws, self.run.beside
        draws, beside = jax.tree.map(lambda a: a[:, chosen], kept)
        return replace(self, run=replace(self.run, draws=draws, beside=beside))

    def flat(self) -> Theta:
        """Draws of all chains on one axis."""
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), self.draws)


def observed(plan: Plan, x: np.ndarray, y: Any) -> tuple[np.ndarray, Any, Missing | None]:
    """Rows as a chain sees them: x (N, P) with its NaN taken out, y or what was seen of it."""
    gaps, missing = np.isnan(x), None
    if gaps.any():
        rows = np.flatnonzero(gaps.any(axis=1))
        missing = Missing(jnp.asarray(rows), jnp.asarray(gaps[rows]))

    def converted(a):
        return np.asarray(a, plan.dtype if np.asarray(a).dtype.kind == "f" else int)

    return np.where(gaps, 0, x).astype(plan.dtype), jax.tree.map(converted, y), missing


def fit(
    plan: Plan,
    x: np.ndarray,
    y: Any,
    on_segment: Callable[[Posterior], None] | None = None,
    devices: int | str = 1,
    counted: np.ndarray | None = None,
) -> Posterior:
    """Draw from the posterior of rows x (N, P), NaN where missing, and of y (N, Q) or Seen of it.

    Both are standardised by the caller.  ``devices`` as in :func:`resume`.  Where every chain has
    rows of its own, x and y have a leading chain axis; so has ``counted``, (chain, N), which is 0
    for rows that only fill a chain's up.  That is for one device and for what may be padded.
    """
    layout = Layout.over(devices, plan.chains, x.shape[-2], may_fill(plan, x))
    with numerics():
        rows = observed(plan, x, y)
        if layout.filled:
            rows = *layout.place_rows(rows[:2], own=counted is not None), rows[2]
        # On one device: gradient fits use a few rows at a time, and other sums than those of one
        # device would lead them elsewhere.
        start = jax.jit(begin_start, static_argnums=0)(plan.program(), plan.seed, *rows)
        start, complete = layout.crew.agreed(start)
        data = placed(plan, start, rows, layout, counted)
        begun = layout.place_chains({"start": start, "unseen": complete})
        compiled = jax.jit(begin_state, static_argnums=(0, 1))
        state = compiled(plan.program(), layout.inside, plan.seed, begun, data)
        posterior = Posterior(plan, start, Run(state, 0, layout=layout))
        return draw_more(posterior, data, plan.draws, on_segment)


def resume(
    posterior: Posterior,
    x: np.ndarray,
    y: Any,
    draws: int,
    on_segment: Callable[[Posterior], None] | None = None,
    devices: int | str = 1,
    counted: np.ndarray | None = None,
) -> Posterior:
    """Continue until ``draws`` draws a chain are kept; equals a run that never stopped.

    ``devices`` of this process share the work, or "all" devices of all processes of this program,
    each of which calls this with the same arguments.  ``counted`` as in :func:`fit`.
    """
    plan, run = posterior.plan, posterior.run
    layout = Layout.over(devices, plan.chains, x.shape[-2], may_fill(plan, x))
    with numerics():
        data = placed(plan, posterior.start, observed(plan, x, y), layout, counted)
        run = replace(run, state=layout.place_chains(run.state), layout=layout)
        return draw_more(replace(posterior, run=run), data, draws, on_segment)


def placed(plan: Plan, start: Start, rows, layout: Layout, counted=None) -> Data:
    """Observed rows, with the prior of every chain, where the layout wants them."""
    x, y, missing = rows
    prior = layout.place_chains(chain_priors(plan, start.theta, x, y))
    own = counted is not None
    x, y = layout.place_rows((x, y), own)
    counts = layout.counted(plan.dtype)
    if own:
        counts = layout.place_rows(np.asarray(counted, plan.dtype), own)
    return Data(x, y, prior, layout.place_all(missing), counts)


def may_fill(plan: Plan, x: np.ndarray) -> bool:
    """Whether rows may be padded: nothing but the sweep and the move adds up over them."""
    plain = plan.outcome == "real" and plan.init == "prior" and plan.prior != "anchored"
    return plain and not np.isnan(x).any()


def draw_more(posterior: Posterior, data: Data, draws: int, on_segment) -> Posterior:
    """The posterior once its warm-up is done and ``draws`` draws a chain are kept.

    ``on_segment`` sees the posterior after every segment (progress, checkpoints).  Ctrl-C between
    two segments ends the run early with everything drawn so far, if anything was kept.
    """
    plan, run = posterior.plan, posterior.run
    kernel, thin, layout = plan.kernel(), plan.thin, run.layout
    keys = layout.place_chains(chain_keys(plan.seed, plan.chains))
    size, room, until = 1, None, 0.0
    try:
        while run.t < plan.before or run.n_draws < draws:
            warming = run.t < plan.before
            if run.t >= until:
                data, until = with_steps(data, kernel, run)
            # A number that is no multiple of thin overshoots by less than one draw's sweeps.
            left = draws - run.n_draws
            if warming:
                left = -(-int(min(plan.before, until) - run.t) // thin)
            count = int(layout.crew.agreed(min(size, left, SEGMENT)))
            began = time.perf_counter()
            now = keys, run.state, np.int64(run.t), np.int64(count), data
            state, new = jax.block_until_ready(advance(kernel, thin, *now, layout.inside))
            kept = run.draws, run.beside
            if not warming:
                room = room or with_room(run, new, draws)
                kept = into_room(room, new, run.n_draws, count)
            run = Run(state, run.t + count * thin, *kept, layout)
            if on_segment is not None:
                on_segment(replace(posterior, run=run))
            size = next_size(size, count, time.perf_counter() - began)
    except KeyboardInterrupt:
        # Several processes cannot know that all were interrupted after the same segment.
        if not run.n_draws or layout.crew.size > 1:
            raise
    return replace(posterior, run=run)


def with_steps(data: Data, kernel, run: Run) -> tuple[Data, float]:
    """The data with the steps of the trajectories to come, and the sweep at which they change."""
    if not isinstance(kernel, InterweavedKernel):
        return data, np.inf
    steps, until = kernel.steps(run.layout.whole(run.state.tuning), run.t)
    return replace(data, steps=steps), until


def begin(
    plan: Plan, seed: jax.Array | int, x: jax.Array, y: Any, missing: Missing | None = None
) -> tuple[Start, Any]:
    """Where the chains start, and their state there.  Pure: may be mapped over data sets."""
    start, complete = begin_start(plan, seed, x, y, missing)
    data = Data(x, y, chain_priors(plan, start.theta, x, y), missing)
    begun = {"start": start, "unseen": complete}
    return start, begin_state(plan, ONE_DEVICE, seed, begun, data)


def begin_start(plan: Plan, seed, x, y, missing=None) -> tuple[Start, unseen.Unseen]:
    """Where the chains start, and what each thinks of the data that were not seen."""
    key_start, key_unseen = (_reserved_keys(plan, seed, t) for t in (START, COMPLETION))
    fold_key = jax.random.fold_in(jax.random.key(seed), FOLDS)
    rows = Data(x, y, None, missing)  # type: ignore[arg-type]
    outcomes = plan.widths(x, y)[-1]
    completed = lambda key, rows: unseen.begin(key, rows, outcomes, plan.levels)  # noqa: E731
    complete = jax.vmap(completed, in_axes=(0, chain_axes(rows)))(key_unseen, rows)
    return find_start(plan, fold_key, key_start, rows, complete), complete


def begin_state(plan: Plan, layout: Layout, seed, begun: dict[str, Any], data: Data) -> Any:
    """The state of every chain at its start."""
    begun, data = layout.trimmed(begun, data)
    start, complete = begun["start"], begun["unseen"]
    init = jax.vmap(plan.kernel().init, in_axes=(0, 0, 0, chain_axes(data), 0))
    keys = _reserved_keys(plan, seed, LATENTS)
    return layout.padded(init(keys, start.theta, start.scales, data, complete))


def _reserved_keys(plan: Plan, seed, t: int) -> jax.Array:
    return jax.vmap(lambda key: jax.random.fold_in(key, t))(chain_keys(seed, plan.chains))


def find_start(plan: Plan, fold_key, keys, rows: Data, complete: unseen.Unseen) -> Start:
    """Gradient fits (one fold a chain) or prior draws; the first sweep draws rho2 and xi2."""
    x, widths = rows.x, plan.widths(rows.x, rows.y)
    if plan.init == "prior":
        prior = build_plan_prior(plan, widths)
        theta, scales = jax.vmap(lambda key: sample_prior(key, prior, widths, x.dtype))(keys)
        return Start(theta, scales, jnp.full(plan.chains, jnp.nan))
    train, held = warmstart.folds(fold_key, len(x), plan.chains)

    def one_chain(key, train, held, complete):
        x, y = complete.complete(rows)[0], complete.seen(rows)
        return warmstart.fit(key, x, y, train, held, widths, plan.h, plan.warmstart)

    theta, loss = jax.vmap(one_chain)(keys, train, held, complete)
    return Start(theta, jax.vmap(partial(first_scales, plan.prior, plan.sites))(theta), loss)


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
