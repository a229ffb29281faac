"""Gibbs sweeps over more latents than memory holds, a block of rows at a time.

Given Theta, rows are independent; Theta given all rows needs sums over them only.  So one pass a
sweep draws the latents of a block after the other and adds up what the variances and weights of
the next need.  A row's random numbers depend on its place among all rows: the result is that of
a run in memory but for the rounding of sums.

Latents lie in unnamed files.  These see plain reads and writes rather than maps: pages of a map
that were touched count as memory in use.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..model.network import Latents, Theta
from . import warmstart
from .block_sweep import CHUNK, Rows, Sums, added, drawn, no_sums, simulated, variances, weights
from .gibbs import GibbsState
from .posterior import Plan, Posterior, Start, chain_priors, starts
from .runtime import numerics
from .sampling import Run, chain_keys
from .streams import FOLDS, LATENTS
from .unseen import Beside, Data

# Peak of a block's arrays, in arrays of all its latents v in float32: u before, v and u after,
# m, standardised residuals, and float64 copies for the Gram matrices.
PEAK = 16
LEAST_BLOCK = 256


def row_bytes(plan: Plan, inputs: int, outcomes: int) -> int:
    """Memory that one row of one chain takes while it is drawn."""
    return PEAK * np.dtype(plan.dtype).itemsize * (sum(plan.hidden) + inputs + outcomes)


def needed(plan: Plan, x: np.ndarray, y: Any, limit: int) -> bool:
    """Whether all chains at once would take more than ``limit`` bytes."""
    width = plan.widths(x, y)[-1]
    return row_bytes(plan, x.shape[1], width) * len(x) * plan.chains > limit


def block_rows(plan: Plan, x: np.ndarray, y: np.ndarray, limit: int) -> int:
    """Rows a block: as many as the limit allows, all blocks alike."""
    bytes_ = row_bytes(plan, x.shape[1], y.shape[1])
    most = limit // bytes_
    if most < min(LEAST_BLOCK, len(x)):
        raise ValueError(
            f"memory_limit of {limit} bytes is too small: a block of {LEAST_BLOCK} rows takes "
            f"{LEAST_BLOCK * bytes_} bytes"
        )
    blocks = -(-len(x) // most)
    size = -(-len(x) // blocks)
    return size if most < CHUNK else min(-(-size // CHUNK) * CHUNK, most // CHUNK * CHUNK)


def check(plan: Plan, x: np.ndarray, y: Any) -> None:
    """An error for what cannot be streamed."""
    too_much = "the chains need more than memory_limit."
    if plan.sampler != "gibbs":
        raise ValueError(
            f"{too_much} Raise it, or use sampler='gibbs', which can keep rows on disk"
        )
    if not isinstance(y, np.ndarray) or np.isnan(x.sum()):
        raise ValueError(
            f"{too_much} Raise it, or fill missing values of X and give exact numbers as y: only "
            f"then can rows be kept on disk"
        )


def _find_start(plan: Plan, x: np.ndarray, y: np.ndarray) -> Start:
    key = jax.random.fold_in(jax.random.key(plan.seed), FOLDS)
    chosen = np.asarray(warmstart.start_rows(key, len(x)))
    rows = Data(jnp.asarray(x[chosen], plan.dtype), jnp.asarray(y[chosen], plan.dtype))
    start, _ = starts(plan, rows)
    return jax.tree.map(np.asarray, start)


@dataclass(frozen=True)
class Block:
    """Rows ``first`` to ``stop`` of one chain, in arrays of ``size`` rows."""

    chain: int
    first: int
    stop: int
    size: int

    def of(self, rows: np.ndarray) -> np.ndarray:
        """These rows of an array, then zeros up to the size of a block."""
        return padded(rows[self.first : self.stop], self.size)


def padded(rows: np.ndarray, size: int) -> np.ndarray:
    if len(rows) == size:
        return np.ascontiguousarray(rows)
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])


class OnDisk:
    """Rows x (N, P) and y (N, Q), the latents on disk, and the sums over them of every chain.

    The chains take ``limit`` bytes of memory; latents lie on the disk of ``folder``.
    """

    def __init__(
        self, plan: Plan, x: np.ndarray, y: np.ndarray, limit: int, folder: Path | None = None
    ):
        check(plan, x, y)
        self.plan, self.x, self.y = plan, x, y
        self.size, self.folder = block_rows(plan, x, y, limit), folder
        self.files = self._new_files()
        self.sums: list[Sums] = []

    def _new_files(self) -> "LatentFiles":
        plan = self.plan
        return LatentFiles.make(plan.chains, len(self.x), plan.hidden, plan.dtype, self.folder)

    def close(self) -> None:
        self.files.close()

    def begin(self) -> Posterior:
        """Latents simulated from the start."""
        with numerics():
            start = _find_start(self.plan, self.x, self.y)
            self._prepare(start)
            for c in range(self.plan.chains):
                key, theta = jax.random.fold_in(self.keys[c], LATENTS), _chain(start.theta, c)
                draw = partial(simulated, self.plan.h, key, theta)
                self.sums.append(self._pass(c, lambda _, rows: draw(rows)))  # noqa: B023
            run = Run(GibbsState(start.theta, start.scales, self.files.maps()), 0)
            return Posterior(self.plan, start, run)

    def take_up(self, posterior: Posterior) -> Posterior:
        """The latents of a run, copied to files of their own: those of an earlier round are kept.

        Whoever holds that round may still return to it.
        """
        if self.sums:
            self.files.close()
            self.files, self.sums = self._new_files(), []
        run = posterior.run
        with numerics():
            self._prepare(posterior.start)
            for c in range(self.plan.chains):
                latents = _chain(run.state.latents, c)
                known = lambda block, _: jax.tree.map(block.of, latents)  # noqa: B023, E731
                self.sums.append(self._pass(c, known))
        state = replace(run.state, latents=self.files.maps())
        return replace(posterior, run=replace(run, state=state))

    def _prepare(self, start: Start) -> None:
        self.keys = chain_keys(self.plan.seed, self.plan.chains)
        priors = chain_priors(self.plan, start.theta, self.x, self.y)
        self.priors = jax.tree.map(np.asarray, priors)

    def advance(self, run: Run, _count: int, thin: int, /) -> tuple[Any, tuple[Theta, Beside], int]:
        """As of ``posterior.Backend``, a draw at a time."""
        state = run.state
        for t in range(run.t, run.t + thin):
            state = self.sweep(t, state)
        return state, jax.tree.map(lambda a: a[:, None], (state.theta, state.unseen.beside)), 1

    def sweep(self, t: int, state: GibbsState) -> GibbsState:
        """Sweep t of every chain; the latents on disk are overwritten."""
        hold = t < self.plan.kernel().settle
        thetas, scales = [], []
        for c in range(self.plan.chains):
            keys = jax.random.split(jax.random.fold_in(self.keys[c], t), 5)
            given = _chain(state.theta, c), _chain(state.scales, c), self.sums[c]
            theta, scale = variances(keys[0], *given, _chain(self.priors, c), hold)
            draw = partial(drawn, self.plan.h, keys[1], keys[2], theta)
            sums = self._pass(c, lambda block, rows: draw(self.files.read_u(block), rows))  # noqa: B023
            thetas.append(weights(keys[3], theta, scale, sums, hold))
            scales.append(scale)
            self.sums[c] = sums
        return GibbsState(_stacked(thetas), _stacked(scales), state.latents, state.unseen)

    def _pass(self, chain: int, latents_of: Callable[[Block, Rows], Latents]) -> Sums:
        """New latents for every block of a chain, written, and the sums over them."""
        sums = no_sums(self.plan.widths(self.x, self.y))
        for block in self.files.blocks(chain, self.size):
            rows = Rows(block.of(self.x), block.of(self.y), np.int64(block.first), len(self.x))
            latents = latents_of(block, rows)
            sums = added(self.plan.h, sums, latents, rows)
            self.files.write(block, latents)
        return jax.block_until_ready(sums)


def _chain(tree, c: int):
    return jax.tree.map(lambda a: a[c], tree)


def _stacked(chains: list):
    return jax.tree.map(lambda *a: np.stack([np.asarray(part) for part in a]), *chains)


@dataclass(frozen=True)
class LatentFiles:
    """v_l and u_l, (chain, row, K_l) each in a file of its own that vanishes with its last map."""

    shape: tuple[int, int]
    widths: tuple[int, ...]
    dtype: np.dtype
    v: tuple
    u: tuple

    @classmethod
    def make(cls, chains: int, rows: int, widths, dtype, folder: Path | None) -> "LatentFiles":
        """``folder`` is on the disk that shall hold them; the system's temporary one if None."""
        files = [tempfile.TemporaryFile(dir=folder) for _ in range(2 * len(widths))]  # noqa: SIM115
        for file, width in zip(files, (*widths, *widths), strict=True):
            file.truncate(chains * rows * width * np.dtype(dtype).itemsize)
        v, u = tuple(files[: len(widths)]), tuple(files[len(widths) :])
        return cls((chains, rows), tuple(widths), np.dtype(dtype), v, u)

    def blocks(self, chain: int, size: int) -> Iterator[Block]:
        rows = self.shape[1]
        for first in range(0, rows, size):
            yield Block(chain, first, min(first + size, rows), size)

    def read_u(self, block: Block) -> tuple:
        count = block.stop - block.first
        parts = []
        for file, width in zip(self.u, self.widths, strict=True):
            self._seek(file, block, width)
            part = np.zeros((block.size, width), self.dtype)
            file.readinto(part[:count].data.cast("B"))
            parts.append(part)
        return tuple(parts)

    def write(self, block: Block, latents: Latents) -> None:
        for files, parts in ((self.v, latents.v), (self.u, latents.u)):
            for file, width, part in zip(files, self.widths, parts, strict=True):
                self._seek(file, block, width)
                file.write(np.asarray(part)[: block.stop - block.first].data)

    def maps(self) -> Latents:
        """All latents (chain, row, K_l), read-only and still on disk."""

        def mapped(files) -> tuple:
            for file in files:
                file.flush()
            return tuple(
                np.memmap(file, self.dtype, "r", shape=(*self.shape, width)).view(np.ndarray)
                for file, width in zip(files, self.widths, strict=True)
            )

        return Latents(mapped(self.v), mapped(self.u))

    def close(self) -> None:
        """No more reads and writes; maps stay."""
        for file in (*self.v, *self.u):
            file.close()

    def _seek(self, file, block: Block, width: int) -> None:
        rows = block.chain * self.shape[1] + block.first
        file.seek(rows * width * self.dtype.itemsize)
