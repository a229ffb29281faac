"""How our JAX code runs: float64 where we ask for it, no reduced matmul precision, cached compiles.

All of it is local to our calls: the user's own JAX settings stay as they are.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np


@contextmanager
def numerics() -> Iterator[None]:
    """64-bit types available, full float32 products and cached compiles, in this context only."""
    with cached_compilations(), jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


def cores() -> int:
    """Cores that this process may use: those the system gives it, at most OMP_NUM_THREADS."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(found or 1, int(asked)) if asked.isdecimal() and int(asked) else found or 1


def in_threads(f: Callable[[Any], Any], items: Iterable[Any], workers: int) -> list[Any]:
    """f of every item; JAX runs what one thread asks for in turn, hence the threads."""

    def one(item: Any) -> Any:
        # Our numerics are those of one thread.
        with numerics():
            return jax.block_until_ready(f(item))

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, items))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done; who ignores it, or has another handler, keeps that."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if asked:
        usual(signal.SIGINT, None)


def stacked(parts: list[Any]) -> Any:
    """One tree of arrays with a leading axis for its parts, in memory."""
    return jax.tree.map(lambda *arrays: np.stack(arrays), *parts)


@contextmanager
def cached_compilations() -> Iterator[None]:
    """Programs that are compiled here are kept on disk, unless the user has chosen a place.

    JAX_ENABLE_COMPILATION_CACHE=0 switches it off.
    """
    if _SETTINGS.enter():
        try:
            yield
        finally:
            _SETTINGS.leave()
    else:
        yield


class _CacheSettings:
    """JAX's settings of its cache, ours while any thread is in our code, then the user's again."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = threading.Lock(), 0, {}

    def enter(self) -> bool:
        """Whether the place is ours to choose."""
        with self.lock:
            if not self.inside:
                if jax.config.values["jax_compilation_cache_dir"] is not None:
                    return False
                ours = _our_cache()
                self.before = {name: jax.config.values[name] for name in ours}
                _update(ours)
            self.inside += 1
        return True

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                _update(self.before)


_SETTINGS = _CacheSettings()


def _our_cache() -> dict[str, Any]:
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return {
        "jax_compilation_cache_dir": str(home / "deepnoise" / "jax"),
        "jax_persistent_cache_min_compile_time_secs": 0.2,
    }


def _update(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
