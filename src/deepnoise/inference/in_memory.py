"""Rows in memory: on one device, whose cores share the chains, or spread over several."""

from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..model.covariates import Missing
from ..model.network import Theta
from .kernels import InterweavedKernel
from .posterior import Plan, Posterior, Start, begin_state, chain_priors, starts
from .runtime import cores, in_threads, numerics, stacked
from .sampling import Run, advance, advance_one, chain_keys
from .sharding import Layout
from .unseen import Beside, Data

# Rows of a gradient at a time on a CPU, where there are many: noises of a block stay in its cache.
BLOCK, MANY_ROWS = 2048, 8192


@dataclass
class InMemory:
    """Rows x (N, P), NaN where missing, and y (N, Q) or Seen of it, standardised by the caller.

    ``devices`` of this process share the work, or "all" devices of all processes of this program,
    each of which makes the same calls.  Where every chain has rows of its own, x and y have a
    leading chain axis; so has ``counted``, (chain, N), which is 0 for rows that only fill a chain's
    up.  That is for one device and for what may be padded.
    """

    plan: Plan
    x: np.ndarray
    y: Any
    devices: int | str = 1
    counted: np.ndarray | None = None

    def __post_init__(self) -> None:
        plan, rows = self.plan, self.x.shape[-2]
        self.layout = Layout.over(self.devices, plan.chains, rows, may_fill(plan, self.x))
        self.keys: Any = None
        self.data: Any = None
        # Threads, once the program is compiled.
        self.workers = 1

    def begin(self) -> Posterior:
        """The chains at their start."""
        plan, layout = self.plan, self.layout
        with numerics():
            x, y, missing = observed(plan, self.x, self.y)
            if layout.filled:
                x, y = layout.place_rows((x, y), own=self.counted is not None)
            start, complete = layout.crew.agreed(starts(plan, Data(x, y, missing=missing)))
            self._place(start, x, y, missing)
            begun = layout.place_chains({"start": start, "unseen": complete})
            compiled = jax.jit(begin_state, static_argnums=(0, 1))
            state = compiled(plan.program(), layout.inside, plan.seed, begun, self.data)
            return Posterior(plan, start, Run(state, 0, layout=layout))

    def take_up(self, posterior: Posterior) -> Posterior:
        """The chains where they were left, on these devices."""
        with numerics():
            if self.data is None:
                self._place(posterior.start, *observed(self.plan, self.x, self.y))
            state = self.layout.place_chains(posterior.run.state)
            run = replace(posterior.run, state=state, layout=self.layout)
            return replace(posterior, run=run)

    def advance(self, run: Run, count: int, thin: int, /) -> tuple[Any, tuple[Theta, Beside], int]:
        """As of ``posterior.Backend``.

        On a CPU, every chain is a run of one program, and the cores share the chains.  A chain's
        numbers do not depend on how many cores there are, and on small tables chains by themselves
        are faster than a batch of them.
        """
        kernel, layout, data = self.plan.kernel(), self.layout, self.data
        if isinstance(kernel, InterweavedKernel):
            if layout.apart and self.x.shape[-2] >= MANY_ROWS:
                kernel = replace(kernel, block=BLOCK)
            steps, sweeps = kernel.steps(layout.whole(run.state.tuning), run.t)
            data, count = replace(data, steps=steps), min(count, -(-sweeps // thin))
        count = int(layout.crew.agreed(count))
        given = np.int64(run.t), np.int64(count)
        if not layout.apart:
            now = kernel, thin, self.keys, run.state, *given, data, layout.inside
            state, new = jax.block_until_ready(advance(*now))
            return state, new, count
        state = jax.tree.map(np.asarray, run.state)
        of = lambda c: jax.tree.map(lambda a: a[c], state)  # noqa: E731
        chains = [
            (kernel, thin, self.keys[c], of(c), *given, data.of_chain(c))
            for c in range(self.plan.chains)
        ]
        if self.workers == 1:
            drawn = list(starmap(advance_one, chains))
        else:
            drawn = in_threads(lambda now: advance_one(*now), chains, self.workers)
        self.workers = cores()
        state, new = stacked(drawn)
        return state, new, count

    def _place(self, start: Start, x, y, missing: Missing | None) -> None:
        """The rows, with the prior of every chain, where the layout wants them."""
        plan, layout = self.plan, self.layout
        prior = layout.place_chains(chain_priors(plan, start.theta, x, y))
        own = self.counted is not None
        counts = layout.counted(plan.dtype)
        if own:
            counts = layout.place_rows(np.asarray(self.counted, plan.dtype), own)
        x, y = layout.place_rows((x, y), own)
        self.data = Data(x, y, prior, layout.place_all(missing), counts)
        self.keys = layout.place_chains(chain_keys(plan.seed, plan.chains))


def observed(plan: Plan, x: np.ndarray, y: Any) -> tuple[Any, Any, Missing | None]:
    """Rows as a chain sees them: x (N, P) with its NaN taken out, y or what was seen of it."""
    gaps, missing = np.isnan(x), None
    if gaps.any():
        rows = np.flatnonzero(gaps.any(axis=1))
        missing = Missing(jnp.asarray(rows), jnp.asarray(gaps[rows]))

    def converted(a):
        return np.asarray(a, plan.dtype if np.asarray(a).dtype.kind == "f" else int)

    return np.where(gaps, 0, x).astype(plan.dtype), jax.tree.map(converted, y), missing


def may_fill(plan: Plan, x: np.ndarray) -> bool:
    """Whether rows may be padded: nothing but the sweep and the move adds up over them."""
    plain = plan.outcome == "real" and plan.init == "prior" and plan.prior != "anchored"
    return plain and not np.isnan(x).any()
