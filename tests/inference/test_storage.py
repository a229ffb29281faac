"""A model folder gives back what was written."""

import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnoise.inference import model_folder, storage
from deepnoise.inference.priors import PriorSpec
from deepnoise.inference.storage import EMPTY, ModelFileError, Sizes, read, write
from deepnoise.model.activation import approximate, leaky_relu

from .stored import ROWS, assert_same, cut, files_of, noise, plan, two_blocks


@pytest.fixture
def folder(tmp_path):
    two_blocks(tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("sampler", ["gibbs", "interweaved"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lazy", [False, True])
def test_round_trip(tmp_path, sampler, dtype, lazy):
    posterior = noise(2, plan(sampler=sampler, dtype=dtype, init="prior"))
    header = {"names": ["a", "β"], "scale": 0.1, "none": None}
    manifest = write(tmp_path / "m", posterior, header, ROWS)
    back = read(tmp_path / "m", lazy)
    assert back.posterior.plan == posterior.plan
    assert hash(back.posterior.plan) == hash(posterior.plan)
    assert back.header == header
    assert back.manifest == manifest
    assert_same(back.posterior.run, posterior.run)
    assert_same(back.posterior.start, posterior.start)
    assert_same(back.extra, ROWS)


@settings(max_examples=8, deadline=None)
@given(
    hidden=st.lists(st.integers(1, 3), max_size=3).map(tuple),
    sizes=st.builds(Sizes, st.integers(1, 4), st.integers(1, 3), st.integers(1, 2)),
    chains=st.integers(1, 3),
    steps=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    prior=st.sampled_from(["paper", "anchored", PriorSpec((1, 2), (3.5, 1e-300), (1, 1), (2, 2))]),
    h=st.sampled_from([leaky_relu(0.1), approximate(np.tanh)]),
)
def test_any_sequence_of_checkpoints_is_a_round_trip(
    tmp_path_factory, hidden, sizes, chains, steps, prior, h
):
    folder = tmp_path_factory.mktemp("any")
    total = sum(steps)
    chosen = plan(hidden=hidden, chains=chains, prior=prior, h=h, sampler="gibbs")
    posterior = noise(3, chosen, total, sizes)
    known = EMPTY
    for draws in np.cumsum(steps).tolist():
        known = write(folder, cut(posterior, draws), {"draws": draws}, known=known)
        back = read(folder)
        assert back.manifest == known
        assert back.header == {"draws": draws}
        assert back.posterior.plan == chosen
        assert_same(back.posterior.run, cut(posterior, draws).run)


def test_a_checkpoint_adds_a_block_and_leaves_nothing_behind(folder):
    before = files_of(folder)
    stored = read(folder)
    assert [block.count for block in stored.manifest.blocks] == [4, 2]
    longer = noise(1, plan(), 9)
    known = write(folder, longer, stored.header, ROWS, stored.manifest)
    after = files_of(folder)
    kept = set(before) & set(after)
    assert {name.rpartition("-")[0] for name in kept} == {
        "",
        "start",
        "rows",
        "draws-00000",
        "draws-00001",
    }
    assert len(after) == len(known.entries()) + 1
    fresh = write(folder, longer, {}, ROWS)
    assert [block.count for block in fresh.blocks] == [9]
    assert len(files_of(folder)) == 5


def test_blocks_do_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BLOCKS", 3)
    posterior = noise(4, plan(), 8)
    known = EMPTY
    for draws in range(9):
        known = write(tmp_path, cut(posterior, draws), {}, known=known)
        assert len(known.blocks) <= 3
    assert_same(read(tmp_path).posterior.run.draws, posterior.run.draws)


def test_two_writers_do_not_mix(folder):
    stored = read(folder)
    write(folder, stored.posterior, {"other": True}, ROWS, stored.manifest)
    before = files_of(folder)
    for known in (stored.manifest, EMPTY):
        with pytest.raises(ModelFileError, match="another process"):
            write(folder, stored.posterior, {}, ROWS, known)
    assert files_of(folder) == before


def test_other_files_are_left_alone(folder):
    (folder / "notes.txt").write_text("mine")
    (folder / "weights.safetensors").write_text("mine too")
    (folder / "state.123.part").write_text("half a file of a killed writer")
    write(folder, noise(5, plan()), {})
    assert read(folder).posterior.run.n_draws == 6
    assert {"notes.txt", "weights.safetensors"} <= set(files_of(folder))
    assert "state.123.part" not in files_of(folder)


def test_the_files_are_safetensors(folder):
    safetensors = pytest.importorskip("safetensors.numpy")
    stored = read(folder)
    state = safetensors.load_file(folder / stored.manifest.files["state"].name)
    assert_same(state["gibbs.theta.beta.0"], stored.posterior.run.state.gibbs.theta.beta[0])


def test_numbers_that_overflow_and_nan_are_not_written_to_a_header(folder):
    before = files_of(folder)
    for bad in (np.nan, np.inf, object(), {1, 2}):
        with pytest.raises(ModelFileError, match="cannot be written as JSON"):
            write(folder, noise(6, plan()), {"bad": bad})
    assert files_of(folder) == before


def test_a_reader_beside_a_writer_gets_one_version_or_the_other(folder, monkeypatch):
    newer = noise(12, plan(), 8)
    real = model_folder.check_file

    def slow(*args):
        if (folder / "overtaken").exists() is False:
            (folder / "overtaken").touch()
            write(folder, newer, {"new": True})
        real(*args)

    monkeypatch.setattr(storage, "check_file", slow)
    assert_same(read(folder).posterior.run, newer.run)


def test_lazy_draws_stay_on_disk(tmp_path):
    posterior = noise(13, plan(hidden=(64, 64), chains=4, sampler="gibbs"), 800)
    size = sum(a.nbytes for a in jax.tree.leaves(posterior.run.draws))
    assert size > 50e6
    write(tmp_path, posterior, {})
    code = f"""
import numpy as np, os
from deepnoise.inference.storage import read
folder = {str(tmp_path)!r}
page = os.sysconf("SC_PAGE_SIZE")
used = lambda: int(open("/proc/self/statm").read().split()[1]) * page
read(folder, lazy=True)
start = used()
posterior = read(folder, lazy=True).posterior
beta = posterior.run.draws.beta[0]
assert isinstance(beta.base, np.memmap) and not beta.flags.writeable
posterior.flat().gamma[0][:3].sum()
lazy = used() - start
whole = read(folder).posterior
print(lazy, used() - start)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lazy, whole = map(int, done.stdout.split())
    assert whole > 0.8 * size
    assert lazy < 0.1 * size


def test_a_lazy_model_outlives_a_new_save_to_its_own_folder(tmp_path):
    posterior = noise(14, plan())
    write(tmp_path, posterior, {})
    lazy = read(tmp_path, lazy=True).posterior
    write(tmp_path, noise(15, plan()), {})
    assert_same(lazy.run.draws, posterior.run.draws)
    write(tmp_path, lazy, {})
    shutil.rmtree(tmp_path)
    assert_same(lazy.run.draws, posterior.run.draws)
