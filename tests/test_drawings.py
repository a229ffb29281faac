"""The drawings of the explanation pages are what ``docs/drawings/make.py`` makes."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "docs" / "images" / "drawings"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
# matplotlib names shapes by a hash of their numbers, whose last digits depend on the machine.
NAME = re.compile(r"\b[a-zA-Z]{1,2}[0-9a-f]{10}\b")

# Text is drawn as paths; matplotlib keeps it in comments.
LABELS = {
    "network-with-noise": ["inputs", "hidden layer 0", "hidden layer 1", "outcome"],
    "one-sweep": ["1  Hamiltonian move", "2  Fresh noise paths", "4  Noise sizes", "7  Weights"],
    "noise-to-modes": ["one hump, symmetric", "one hump, skewed", "two humps"],
    "credible-band": ["60 rows", "3,000 rows", "95 % credible band:", "90 % prediction"],
    "chains-judged": ["Settled", "Still moving", "Steady, but apart"],
    "main-line": ["model", "inference", "prediction", "estimators", "baselines", "studies", "cli"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with drawings made now."""
    folder = tmp_path_factory.mktemp("drawings")
    command = [sys.executable, str(ROOT / "docs" / "drawings" / "make.py"), "--out", str(folder)]
    subprocess.run(command, check=True, timeout=300)
    return folder


def creator(text: str) -> str:
    found = re.search(r"Matplotlib v[\d.]+", text)
    assert found, "the file does not say which matplotlib made it"
    return found.group()


def shape(text: str) -> str:
    """The file without its numbers and without names made of them."""
    return NUMBER.sub("0", NAME.sub("name", text))


def numbers(text: str) -> np.ndarray:
    return np.array(NUMBER.findall(NAME.sub("name", text)), float)


def test_there_is_one_file_for_each_drawing(made):
    names = sorted(LABELS)
    assert sorted(path.stem for path in made.iterdir()) == names
    assert sorted(path.stem for path in COMMITTED.iterdir()) == names


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("now", [True, False], ids=["made", "committed"])
def test_a_drawing_is_a_card_of_700_pixels_with_its_labels(made, name, now):
    text = ((made if now else COMMITTED) / f"{name}.svg").read_text("utf-8")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(700 * 72 / 96)
    assert "<dc:date>" not in text
    missing = [label for label in LABELS[name] if f"<!-- {label}" not in text]
    assert not missing


@pytest.mark.parametrize("name", LABELS)
def test_the_committed_drawing_is_what_the_code_makes(made, name):
    new, old = ((folder / f"{name}.svg").read_text("utf-8") for folder in (made, COMMITTED))
    if creator(new) != creator(old):
        pytest.skip(f"committed by {creator(old)}, this is {creator(new)}")
    assert shape(new) == shape(old), "run python docs/drawings/make.py"
    np.testing.assert_allclose(numbers(new), numbers(old), atol=0.02)
