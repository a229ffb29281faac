"""Latents of all chains in unnamed files, read and written a block of rows at a time.

Plain reads and writes rather than maps: pages of a map that were touched count as memory in use.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..model.network import Latents


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
