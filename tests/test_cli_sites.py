"""``deepnoise fit --sites``, and predictions of a site that was not in the table."""

import io

import pandas as pd

from tests.cli_toy import ROWS, TEST_ROWS, error, fit, predicted, run, table


def test_a_new_site_is_predicted(tmp_path):
    table(ROWS, 0).to_csv(tmp_path / "train.csv", index=False)
    table(TEST_ROWS, 1).assign(colour="green").to_csv(tmp_path / "test.csv", index=False)
    model = tmp_path / "model"
    assert fit(tmp_path / "train.csv", model, "--sites", "colour").exit_code == 0
    result = run("predict", model, tmp_path / "test.csv")
    assert result.exit_code == 0, result.output
    assert "not there when fitting" not in result.stderr
    new = pd.read_csv(io.StringIO(predicted(model, tmp_path / "test.csv")))
    assert len(new) == TEST_ROWS
    assert not new.isna().any(axis=None)
    refused = fit(tmp_path / "train.csv", tmp_path / "other", "--sites", "centre")
    assert "there is no 'centre'" in error(refused, 2)
    table(TEST_ROWS, 1).assign(colour="").to_csv(tmp_path / "gap.csv", index=False)
    assert "the site is missing" in error(run("predict", model, tmp_path / "gap.csv"), 2)


def test_not_for_classes(tmp_path):
    table(ROWS, 0).to_csv(tmp_path / "train.csv", index=False)
    wrong = run(
        *("fit", tmp_path / "train.csv", "--target", "colour", "--classes"),
        *("--out", tmp_path / "m", "--sites", "id"),
    )
    assert "--sites: not for --classes" in error(wrong, 2)
