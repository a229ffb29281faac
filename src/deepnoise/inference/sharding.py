"""Where arrays lie when a fit is spread over devices: chains by rows, Theta on all of a chain's.

The chain's code does not know: the compiler splits what is done row by row and adds up what is
summed over rows.  Outside compiled code rows are padded to equal shares; inside, the padding is cut
off again and the compiler sees the true number of rows, so that nothing has to be weighted.

On one device rows may be padded to one of few sizes instead, and the padding stays: it counts
nothing (``Data.counted``), and tables of about the same length share one compiled program.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from .runtime import numerics

CHAINS, ROWS = "chains", "rows"
# Parts of a chain's state with one entry for each row; the chain is the axis before.
ROW_PARTS = ("latents.", "unseen.x", "unseen.y")
TRANSPORTS = ("Gloo", "NCCL", "oordination service")


class LostProcessError(RuntimeError):
    """Another process of the same fit has stopped."""


@dataclass(frozen=True)
class Crew:
    """The processes that make one fit together; usually one."""

    size: int = 1
    rank: int = 0

    @classmethod
    def of(cls, devices: int | str) -> "Crew":
        return cls(jax.process_count(), jax.process_index()) if devices == "all" else cls()

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes and shows."""
        return self.rank == 0

    def agreed(self, tree: Any) -> Any:
        """What the leader has, in every process."""
        if self.size == 1:
            return tree
        with numerics():
            return jax.tree.map(np.asarray, multihost_utils.broadcast_one_to_all(tree))

    def check_same(self, digest: int, what: str) -> None:
        """An error in every process unless all have the same digest."""
        with numerics():
            found = multihost_utils.process_allgather(np.int64(digest))
        if len(np.unique(found)) > 1:
            raise ValueError(f"{what} differ between the processes of this fit")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Failed communication as an error that says what happened."""
        try:
            yield
        except Exception as error:
            text = str(error).strip().partition("\n")[0]
            runtime = isinstance(error, jax.errors.JaxRuntimeError)
            lost = runtime and "RESOURCE_EXHAUSTED" not in text
            # A broken connection may also come out as an error of another kind.
            if self.size == 1 or not (lost or any(name in text for name in TRANSPORTS)):
                raise
            raise LostProcessError(f"another process of this fit has stopped ({text})") from error


ALONE = Crew()


@dataclass(frozen=True)
class Layout:
    """A mesh of chains × rows for a fit of so many rows; without a mesh, one device.

    With ``filled``, one device has them padded to ``rung(rows)``.
    """

    rows: int
    mesh: Mesh | None = None
    crew: Crew = ALONE
    filled: bool = False

    @classmethod
    def over(cls, devices: int | str, chains: int, rows: int, may_fill: bool = False) -> "Layout":
        """As many groups of devices as share out the chains evenly, rows split within a group."""
        crew, found = Crew.of(devices), chosen(devices)
        if len(found) == 1:
            return cls(rows, filled=True) if may_fill else ONE_DEVICE
        shape = (groups := gcd(chains, len(found)), len(found) // groups)
        axes = (AxisType.Auto, AxisType.Auto)
        return cls(rows, Mesh(np.array(found).reshape(shape), (CHAINS, ROWS), axes), crew)

    @property
    def inside(self) -> "Layout":
        """What compiled code knows of it: nothing of the number of rows, if they are padded."""
        return self if self.mesh is not None else ONE_DEVICE

    @property
    def apart(self) -> bool:
        """Whether chains are programs of their own: on the cores of one CPU."""
        return self.mesh is None and jax.default_backend() == "cpu"

    def counted(self, dtype) -> jax.Array | None:
        """1 for rows of the data and 0 for padding; None where compiled code sees no padding."""
        return (jnp.arange(self.size) < self.rows).astype(dtype) if self.filled else None

    @property
    def size(self) -> int:
        """Rows with their padding."""
        if self.mesh is None:
            return rung(self.rows) if self.filled else self.rows
        return self.rows + -self.rows % self.mesh.shape[ROWS]

    def place_rows(self, tree: Any, own: bool = False) -> Any:
        """Rows (N, ...) from this process's memory; (chain, N, ...) if chains have their own."""
        spec = PartitionSpec(CHAINS, ROWS) if own else PartitionSpec(ROWS)
        return self._placed(tree, lambda _: spec)

    def place_chains(self, tree: Any) -> Any:
        """What each chain has (chain, ...), its rows (chain, N, ...) split."""
        return self._placed(tree, _spec)

    def place_all(self, tree: Any) -> Any:
        """The same everywhere."""
        return self._placed(tree, lambda _: PartitionSpec())

    def trimmed(self, state: Any, data: Any) -> Any:
        """Inside compiled code: state and data without padding, the rows still split."""
        if self.mesh is None:
            return state, data
        state = self._mapped(self._cut, state, _spec)
        rows = self._mapped(self._cut, (data.x, data.y), lambda _: PartitionSpec(ROWS))
        return state, replace(data, x=rows[0], y=rows[1])

    def padded(self, state: Any) -> Any:
        """Inside compiled code: the state with equal shares of rows, for the way out."""
        return state if self.mesh is None else self._mapped(self._constrained, state, _spec)

    def everywhere(self, tree: Any) -> Any:
        """Inside compiled code: results that every process will read."""
        if self.mesh is None:
            return tree
        return jax.lax.with_sharding_constraint(tree, self._sharding(PartitionSpec()))

    def whole(self, state: Any) -> Any:
        """The state in the memory of every process, without padding; all must ask for it."""
        if self.mesh is None and not self.filled:
            return jax.tree.map(np.asarray, state)
        gather = np.asarray if self.mesh is None else self._gather()

        def cut(a, spec):
            a = np.asarray(gather(a))
            return a[:, : self.rows] if ROWS in spec else a

        return self._mapped(cut, state, _spec)

    def _gather(self):
        return jax.jit(lambda a: a, out_shardings=self._sharding(PartitionSpec()))

    def _sharding(self, spec: PartitionSpec) -> NamedSharding:
        assert self.mesh is not None
        return NamedSharding(self.mesh, spec)

    def _placed(self, tree, spec_of):
        if self.mesh is None:
            fill = lambda a, spec: jnp.asarray(self._filled(np, a, spec))  # noqa: E731
            return self._mapped(fill, tree, spec_of)

        def place(a, spec):
            if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
                return jax.random.wrap_key_data(place(jax.random.key_data(a), spec))
            whole = self._filled(np, np.asarray(a), spec)
            return jax.make_array_from_callback(
                whole.shape, self._sharding(spec), whole.__getitem__
            )

        return self._mapped(place, tree, spec_of)

    def _cut(self, a, spec):
        if ROWS in spec:
            a = jax.lax.slice_in_dim(a, 0, self.rows, axis=spec.index(ROWS))
        return jax.lax.with_sharding_constraint(a, self._sharding(spec))

    def _constrained(self, a, spec):
        filled = self._filled(jnp, a, spec)
        return jax.lax.with_sharding_constraint(filled, self._sharding(spec))

    def _filled(self, library, a, spec):
        """``size`` rows, the last of them zeros."""
        if ROWS not in spec or self.size == self.rows:
            return a
        axis = spec.index(ROWS)
        extra = self.size - a.shape[axis]
        return library.pad(a, [(0, extra if i == axis else 0) for i in range(a.ndim)])

    def _mapped(self, f, tree, spec_of):
        return jax.tree_util.tree_map_with_path(lambda path, a: f(a, spec_of(path)), tree)


ONE_DEVICE = Layout(0)


def rung(rows: int) -> int:
    """The next of few sizes, of which there are eight from one power of two to the next."""
    step = max(2 ** (rows.bit_length() - 4), 1)
    return -(-rows // step) * step


def _spec(path) -> PartitionSpec:
    name = jax.tree_util.keystr(path, simple=True, separator=".")
    rows = any(part in name for part in ROW_PARTS)
    return PartitionSpec(CHAINS, ROWS) if rows else PartitionSpec(CHAINS)


def chosen(devices: int | str) -> list[Any]:
    """That many devices of this process, or those of all processes."""
    if devices == "all":
        return jax.devices()
    found = jax.local_devices()
    if int(devices) > len(found):
        raise ValueError(
            f"devices={devices}, but this process has {len(found)}; a CPU is one device, and the "
            f"chains share its cores anyway"
        )
    return found[: int(devices)]
