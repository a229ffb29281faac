"""The ledger: no row twice, none lost, whoever dies."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from deepnoise.studies.ledger import Ledger
from deepnoise.studies.spec import Case

CASE = Case("bp", "wine", 3, 0)
ROW = {"method": "bp", "set": "wine", "split": 3, "seed": 0, "settings_hash": "h", "metrics": {}}


def test_a_claimed_row_is_nobody_elses(tmp_path):
    ledger, other = Ledger(tmp_path / "l.jsonl"), Ledger(tmp_path / "l.jsonl")
    claim = ledger.claim(CASE, "h")
    assert claim is not None
    assert other.claim(CASE, "h") is None
    second = other.claim(CASE, "other settings")
    assert second is not None
    second.release(made=False)
    claim.release(made=False)
    again = other.claim(CASE, "h")
    assert again is not None
    other.append(ROW)
    again.release(made=True)
    assert ledger.claim(CASE, "h") is None


def test_of_many_workers_one_makes_the_row(tmp_path):
    def worker(_):
        ledger = Ledger(tmp_path / "l.jsonl")
        claim = ledger.claim(CASE, "h")
        if claim is None:
            return 0
        ledger.append(ROW)
        claim.release(made=True)
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(worker, range(64))) == 1
    assert Ledger(tmp_path / "l.jsonl").rows() == [ROW]


def test_the_claim_of_a_killed_process_is_free(tmp_path):
    code = """
import os, sys
from deepnoise.studies.ledger import Ledger
from deepnoise.studies.spec import Case
assert Ledger(sys.argv[1]).claim(Case("bp", "wine", 3, 0), "h") is not None
os.kill(os.getpid(), 9)
"""
    path = os.pathsep.join(sys.path)
    arguments = [sys.executable, "-c", code, str(tmp_path / "l.jsonl")]
    died = subprocess.run(arguments, env={**os.environ, "PYTHONPATH": path}, timeout=120)
    assert died.returncode == -9
    assert any((tmp_path / "l.jsonl.claims").iterdir())
    assert Ledger(tmp_path / "l.jsonl").claim(CASE, "h") is not None


def test_a_line_cut_short_is_no_row_and_harms_no_other(tmp_path):
    ledger = Ledger(tmp_path / "l.jsonl")
    ledger.append(ROW)
    with ledger.path.open("ab") as file:
        file.write(b'{"method": "de", "se')
    assert ledger.rows() == [ROW]
    ledger.append({**ROW, "split": 4})
    assert [row["split"] for row in ledger.rows()] == [3, 4]


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    (tmp_path / "l.jsonl").write_text("split,rmse\n")
    with pytest.raises(ValueError, match="line 1: not a row"):
        Ledger(tmp_path / "l.jsonl").rows()


def test_failed_rows_are_made_again_only_if_asked(tmp_path):
    ledger = Ledger(tmp_path / "l.jsonl")
    ledger.append({**ROW, "error": "ValueError: no"})
    assert ledger.claim(CASE, "h") is None
    assert Ledger(tmp_path / "l.jsonl", retry=True).claim(CASE, "h") is not None
