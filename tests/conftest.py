"""Keys from test names, a compile cache that outlives the run, pictures without a screen."""

import os
import zlib

import pytest


def pytest_configure(config):
    # Before anything imports JAX or matplotlib, which read these once; a user's own choice wins.
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.rootpath / ".pytest_cache/d/jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


@pytest.fixture
def key(request):
    """A JAX key that is a function of the test's name only: the same in any order of tests."""
    import jax

    return jax.random.key(zlib.crc32(request.node.nodeid.encode()))
