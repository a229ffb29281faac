"""How our JAX code runs: float64 where we ask for it, no reduced matmul precision, cached compiles.

All of it is local to our calls: the user's own JAX settings stay as they are.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax


@contextmanager
def numerics() -> Iterator[None]:
    """64-bit types available and full float32 products, inside this context only."""
    _cache_compilations()
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


def _cache_compilations() -> None:
    """Compiled programs are kept on disk, unless the user has chosen a place or none."""
    if jax.config.values["jax_compilation_cache_dir"] is None:
        home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        folder = home / "deepnoise" / "jax"
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
