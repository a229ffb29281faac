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
    """64-bit types available, full float32 products and cached compiles, in this context only."""
    with cached_compilations(), jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


@contextmanager
def cached_compilations() -> Iterator[None]:
    """Programs that are compiled here are kept on disk, unless the user has chosen a place.

    JAX_ENABLE_COMPILATION_CACHE=0 switches it off.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        yield
        return
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    ours = {
        "jax_compilation_cache_dir": str(home / "deepnoise" / "jax"),
        "jax_persistent_cache_min_compile_time_secs": 0.2,
    }
    before = {name: jax.config.values[name] for name in ours}
    try:
        for name, value in ours.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
