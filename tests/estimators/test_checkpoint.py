"""Checkpoints of a fit: when they are written, what they continue, what they refuse."""

import errno
import os
from dataclasses import replace

import numpy as np
import pytest

from deepnoise.estimators import files
from deepnoise.estimators.files import Checkpointer, checkpoint_seed
from deepnoise.inference.model_folder import ModelFileError
from deepnoise.inference.storage import read

from ..inference.stored import assert_same, cut, noise, plan

HEADER = {"estimator": "A", "encoder": {"named": False}, "units": {"x": [1.0]}, "params": {}}
X, Y = np.arange(15.0).reshape(5, 3), np.arange(5.0)[:, None]
ROWS = {"x": X, "y": Y}
PLAN = plan(sampler="gibbs")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [0.0]
    monkeypatch.setattr(files.time, "monotonic", lambda: now[0])
    return now


def stage(draws: int):
    """An ever longer run."""
    return cut(noise(1, PLAN, 6), draws)


def test_a_new_folder_holds_nothing_to_continue(tmp_path):
    assert Checkpointer(tmp_path / "m", PLAN, HEADER, ROWS).found is None
    assert not list((tmp_path / "m").iterdir())
    assert checkpoint_seed(tmp_path / "m") is None
    assert checkpoint_seed(None) is None


def test_written_at_once_then_now_and_then_and_at_the_end(tmp_path, clock):
    save = Checkpointer(tmp_path, PLAN, HEADER, ROWS)
    on_disk = []
    for draws, now in [(1, 0.0), (2, 1.0), (3, 4.9), (4, 5.1), (5, 6.0)]:
        clock[0] = now
        save(stage(draws))
        on_disk.append(read(tmp_path).posterior.run.n_draws)
    assert on_disk == [1, 1, 1, 4, 4]
    save(stage(6), last=True)
    stored = read(tmp_path)
    assert [block.count for block in stored.manifest.blocks] == [6]
    assert_same(stored.posterior.run, stage(6).run)
    assert_same(stored.extra, {"rows": {"x": X, "y": Y}})


def test_the_end_joins_the_pieces_once(tmp_path, clock):
    save = Checkpointer(tmp_path, PLAN, HEADER, ROWS)
    for draws in (1, 6):
        save(stage(draws))
        clock[0] += 10
    assert len(read(tmp_path).manifest.blocks) == 2
    save(stage(6), last=True)
    joined = read(tmp_path).manifest
    assert len(joined.blocks) == 1
    save(stage(6), last=True)
    assert read(tmp_path).manifest == joined


def test_slow_disks_get_fewer_checkpoints(tmp_path, clock, monkeypatch):
    save = Checkpointer(tmp_path, PLAN, HEADER, ROWS)
    real = files.storage.write

    def slow(*args):
        clock[0] += 2.0
        return real(*args)

    monkeypatch.setattr(files.storage, "write", slow)
    save(stage(1))
    clock[0] = 39.0
    save(stage(2))
    assert read(tmp_path).posterior.run.n_draws == 1
    clock[0] = 41.0
    save(stage(3))
    assert read(tmp_path).posterior.run.n_draws == 3


def test_the_same_fit_is_continued_even_to_more_draws(tmp_path):
    Checkpointer(tmp_path, PLAN, HEADER, ROWS)(stage(4))
    longer = replace(PLAN, draws=50)
    save = Checkpointer(tmp_path, longer, {**HEADER, "params": {"paths": 3}}, ROWS)
    assert save.found.plan == longer
    assert_same(save.found.run, stage(4).run)
    assert checkpoint_seed(tmp_path) == PLAN.seed
    save(stage(3))
    assert read(tmp_path).posterior.run.n_draws == 4
    save(stage(5))
    assert read(tmp_path).posterior.run.n_draws == 5
    assert read(tmp_path).header["params"] == {"paths": 3}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"plan": replace(PLAN, seed=8)}, "seed is 7 there and 8 here"),
        ({"plan": replace(PLAN, thin=2, warmup=3)}, "warmup is 200 there and 3 here; thin is 1"),
        ({"plan": replace(PLAN, draws=3)}, "already holds 4 draws per chain, more than 3"),
        ({"rows": {"x": X + 1e-9, "y": Y}}, "the rows of X differ"),
        ({"rows": {"x": X[:4], "y": Y[:4]}}, "the rows of X differ; the rows of y differ"),
        ({"rows": {**ROWS, "lower": Y, "upper": Y}}, "the rows of y differ"),
        ({"header": {**HEADER, "units": {"x": [2.0]}}}, "the units of X or y differ"),
        ({"header": {**HEADER, "encoder": {"named": True}}}, "the columns of X differ"),
    ],
)
def test_another_fit_is_refused_and_kept(tmp_path, changed, message):
    Checkpointer(tmp_path, PLAN, HEADER, ROWS)(stage(4))
    asked = {"plan": PLAN, "header": HEADER, "rows": ROWS, **changed}
    with pytest.raises(ValueError, match=message):
        Checkpointer(tmp_path, **asked)
    assert_same(read(tmp_path).posterior.run, stage(4).run)


def test_a_damaged_checkpoint_is_not_overwritten(tmp_path):
    Checkpointer(tmp_path, PLAN, HEADER, ROWS)(stage(4))
    (tmp_path / "header.json").write_text("{")
    with pytest.raises(ModelFileError, match="damaged"):
        Checkpointer(tmp_path, PLAN, HEADER, ROWS)


def test_only_the_first_write_may_end_a_fit(tmp_path, clock, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    save = Checkpointer(tmp_path / "m", PLAN, HEADER, ROWS)
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(ModelFileError, match="No space left"):
            save(stage(1))
    save(stage(1))
    clock[0] = 10.0
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.warns(UserWarning, match="the fit continues without it.*No space left"):
            save(stage(2))
    assert read(tmp_path / "m").posterior.run.n_draws == 1
    clock[0] = 20.0
    save(stage(3))
    assert read(tmp_path / "m").posterior.run.n_draws == 3


def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="cannot write"):
        Checkpointer(tmp_path / "file" / "m", PLAN, HEADER, ROWS)


def test_two_fits_do_not_share_a_folder(tmp_path):
    first, second = (Checkpointer(tmp_path, PLAN, HEADER, ROWS) for _ in range(2))
    first(stage(2))
    with pytest.raises(ModelFileError, match="another process"):
        second(stage(1))
