"""Which fits share a program."""

import numpy as np

from deepnoise.studies import batched
from deepnoise.studies.ledger import Ledger
from deepnoise.studies.paper import UciStudy
from deepnoise.studies.spec import Spec

from .toy import uci_folder


def test_splits_with_different_inputs_have_programs_of_their_own(tmp_path, monkeypatch):
    folder = uci_folder(tmp_path)
    table = folder / "wine.csv"
    names, *lines = table.read_text().split()
    rare = np.r_[100, np.arange(len(lines) - 1) % 2]
    rows = "\n".join(f"{third},{line}" for third, line in zip(rare, lines, strict=True))
    table.write_text(f"b,{names}\n{rows}\n")
    spec = Spec(
        "uci", ("bdeepnoise",), ("wine",), 3, settings={"bdeepnoise": {"standardize": "scores"}}
    )
    groups = []
    monkeypatch.setattr(
        batched, "_rows", lambda tasks: groups.append([t.case.split for t in tasks]) or []
    )
    batched.run_batched(UciStudy(spec, folder), Ledger(tmp_path / "ledger.jsonl"))
    assert groups == [[0], [1, 2]], "only split 0 has the rare value among its test rows"
