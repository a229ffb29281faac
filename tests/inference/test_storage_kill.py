"""Writers killed without warning: the folder holds the old model or the new, and chains go on."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepnoise.inference.posterior import Plan
from deepnoise.inference.storage import EMPTY, read, write
from deepnoise.model.activation import hard_tanh

from .fits import fit, resume
from .stored import assert_same

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills and forks as POSIX does")


def python(code: str, *args) -> subprocess.Popen:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *map(str, args)],
        env={**os.environ, "PYTHONPATH": paths},
    )


def test_death_at_every_step_of_a_write(tmp_path):
    """A child that dies at the k-th system call that changes the folder, for every k."""
    code = """
    import os, sys
    from pathlib import Path
    from deepnoise.inference.storage import read, write
    from tests.inference.stored import assert_same, noise, plan

    def dying(k):
        left = iter(range(k, -1, -1))
        def wrap(real):
            def call(*args, **kwargs):
                if next(left) == 0:
                    os._exit(9)
                return real(*args, **kwargs)
            return call
        for owner, name in ((os, "replace"), (os, "fsync"), (Path, "unlink"), (Path, "open")):
            setattr(owner, name, wrap(getattr(owner, name)))

    folder = Path(sys.argv[1])
    old, new = noise(1, plan(), 3), noise(2, plan(), 5)
    seen = set()
    for k in range(100):
        write(folder, old, {"new": False})
        child = os.fork()
        if not child:
            dying(k)
            write(folder, new, {"new": True})
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stored = read(folder)
        assert_same(stored.posterior.run, (new if stored.header["new"] else old).run)
        seen.add(stored.header["new"])
        if code == 0:
            break
    assert code == 0 and k > 10 and seen == {False, True}
    assert len(list(folder.iterdir())) == 4
    """
    assert python(code, tmp_path / "m").wait(timeout=120) == 0


PLAN = Plan((2,), hard_tanh, 3, chains=2, warmup=8, draws=2000, init="prior")
FIT = """
import sys
from tests.inference.fits import fit, resume
from deepnoise.inference.storage import EMPTY, read, write
from tests.inference.test_storage_kill import PLAN, rows

folder, known = sys.argv[1], EMPTY
def save(posterior):
    global known
    known = write(folder, posterior, {}, known=known)
if len(sys.argv) > 2:
    stored = read(folder)
    known = stored.manifest
    resume(stored.posterior, *rows(), PLAN.draws, save)
else:
    fit(PLAN, *rows(), save)
"""


def rows():
    rng = np.random.default_rng(1)
    return rng.normal(size=(20, 2)), rng.normal(size=(20, 1))


def killed(folder: Path, wait: float, *args) -> int:
    """Draws on disk after a fit that was killed ``wait`` seconds after its first checkpoint."""
    header = folder / "header.json"
    before = header.stat().st_mtime_ns if header.exists() else 0
    process = python(FIT, folder, *args)
    try:
        deadline = time.monotonic() + 120
        while not header.exists() or header.stat().st_mtime_ns == before:
            assert process.poll() is None, "the fit ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(wait)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return read(folder).posterior.run.n_draws


def test_chains_killed_again_and_again_draw_the_same_numbers(tmp_path):
    rng = np.random.default_rng(2)
    folder = tmp_path / "m"
    draws = [killed(folder, rng.uniform(0, 0.2))]
    draws += [killed(folder, rng.uniform(0, 0.4), "resume") for _ in range(2)]
    assert draws == sorted(draws)
    assert draws[-1] < PLAN.draws
    went_on = resume(read(folder).posterior, *rows(), PLAN.draws)
    assert_same(went_on.run, fit(PLAN, *rows()).run)


class Stop(Exception):
    pass


@pytest.mark.parametrize("stop", [4, 9])
def test_stopped_in_warm_up_or_later_the_tuned_sampler_goes_on_exactly(tmp_path, stop):
    plan = replace(PLAN, draws=5)
    known = EMPTY

    def save(posterior):
        nonlocal known
        known = write(tmp_path, posterior, {}, known=known)
        if posterior.run.t >= stop:
            raise Stop

    with pytest.raises(Stop):
        fit(plan, *rows(), save)
    stored = read(tmp_path, lazy=True)
    assert (stored.posterior.run.n_draws == 0) == (stop < plan.warmup)
    went_on = resume(stored.posterior, *rows(), plan.draws)
    assert_same(went_on.run, fit(plan, *rows()).run)
