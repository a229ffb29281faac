"""Keys from test names, a compile cache that outlives the run, pictures without a screen."""

import gc
import itertools
import os
import sys
import zlib
from importlib.metadata import version
from pathlib import Path

import pytest

MOST_MAPS = 20_000
LEVEL = "--xla_backend_optimization_level="
# Compiles in two thirds of the time and draws more slowly.  A jaxlib that does not know a flag ends
# the process, and this one is not in every version.
EMITTERS = "--xla_cpu_use_fusion_emitters=false"
EMITTERS_OF = "0.10."
finished = itertools.count(1)


def pytest_configure(config):
    # Before anything imports JAX or matplotlib, which read these once; a user's own choice wins.
    os.environ.setdefault("MPLBACKEND", "Agg")
    # One cache for all checkouts: compiling is more than half of what tests do.
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(home / "deepnoise" / "tests"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    # Fast tests compile much and run little, so their programs are not optimised.  Proofs that draw
    # much are: level 1 draws as fast as XLA's own and compiles in two thirds of the time.
    level = 1 if config.option.markexpr in ("slow", "long") else 0
    flags = os.environ.get("XLA_FLAGS", "")
    if LEVEL not in flags:
        emitters = EMITTERS if level == 0 and version("jaxlib").startswith(EMITTERS_OF) else ""
        os.environ["XLA_FLAGS"] = f"{flags} {LEVEL}{level} {emitters}".strip()


@pytest.fixture
def key(request):
    """A JAX key that is a function of the test's name only: the same in any order of tests."""
    import jax

    return jax.random.key(zlib.crc32(request.node.nodeid.encode()))


def pytest_runtest_teardown():
    """Compiled programs are memory maps, of which Linux allows a process 65530: drop them in time.

    What is dropped comes back from the compile cache.
    """
    maps = Path("/proc/self/maps")
    if next(finished) % 10 or "jax" not in sys.modules or not maps.exists():
        return
    if maps.read_bytes().count(b"\n") > MOST_MAPS:
        sys.modules["jax"].clear_caches()
        gc.collect()
