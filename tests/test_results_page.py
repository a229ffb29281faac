"""The tables of docs/results/index.md are those of the ledgers."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import results_page  # noqa: E402

TABLES = {
    "Table 1": results_page.table1,
    "Table 2, NLL": lambda: results_page.table2("nll"),
    "Table 2, RMSE": lambda: results_page.table2("rmse"),
    "coverage": results_page.coverage,
    "diabetes": results_page.diabetes,
}


@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_the_table_of_the_ledgers(name):
    page = (ROOT / "docs" / "results" / "index.md").read_text("utf-8").splitlines()
    missing = [line for line in TABLES[name]() if line not in page]
    assert not missing, "python benchmarks/results_page.py prints the tables"
