"""A model folder that is damaged, or cannot be written: one clear error, and nothing lost."""

import errno
import json
import os
import resource
import signal

import numpy as np
import pytest

from deepnoise.inference import model_folder
from deepnoise.inference.model_folder import ModelFileError
from deepnoise.inference.storage import read, write

from .stored import ROWS, assert_same, files_of, noise, plan, two_blocks


@pytest.fixture
def folder(tmp_path):
    two_blocks(tmp_path / "m")
    return tmp_path / "m"


def edit_header(folder, change, sign=True) -> None:
    """A header changed by hand, with a checksum that fits if ``sign``."""
    header = json.loads((folder / "header.json").read_text())
    change(header)
    if sign:
        body = {name: value for name, value in header.items() if name != "checksum"}
        header["checksum"] = model_folder.checksum_of(body)
    (folder / "header.json").write_text(json.dumps(header))


def test_every_byte_counts(folder):
    rng = np.random.default_rng(7)
    for name, content in files_of(folder).items():
        for place in {0, len(content) - 1, *rng.integers(len(content), size=5).tolist()}:
            changed = bytearray(content)
            changed[place] ^= 1 << rng.integers(7)
            (folder / name).write_bytes(changed)
            # Blanks between the words of the header carry nothing.
            if name != "header.json" or json_of(changed) != json_of(content):
                with pytest.raises(ModelFileError):
                    read(folder)
        (folder / name).write_bytes(content)
    read(folder)


def json_of(content):
    try:
        return json.loads(content)
    except ValueError:
        return None


def test_a_cut_longer_or_missing_file_is_refused(folder):
    for name, content in files_of(folder).items():
        for wrong in (content[: len(content) // 2], b"", content + b"\0"):
            (folder / name).write_bytes(wrong)
            with pytest.raises(ModelFileError, match="damaged"):
                read(folder)
        (folder / name).unlink()
        with pytest.raises(ModelFileError, match=r"missing|not a model folder"):
            read(folder)
        (folder / name).write_bytes(content)
    read(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(version=4, library="9.9"), "version 4.*newer deepnoise.*9.9"),
        (lambda h: h.update(version="1"), "version '1'"),
        (lambda h: h.update(format="other"), "not the header"),
        (lambda h: h["plan"].update(chains=3), r"expected float32 \(3, "),
        (lambda h: h["plan"].update(chains=2.0), "makes no sense"),
        (lambda h: h["plan"].update(dtype="float64"), "expected float64"),
        (lambda h: h["plan"].update(sampler="gibbs"), "it holds"),
        (lambda h: h["plan"].update(prior="none"), "makes no sense"),
        (lambda h: h["plan"].update(later=1), "unknown settings"),
        (lambda h: h["plan"].pop("seed"), "makes no sense"),
        (lambda h: h["plan"]["h"].update(c=[2.0, 1.0]), "increase strictly"),
        (lambda h: h["sizes"].update(rows=10**9), "expected"),
        (lambda h: h["sizes"].update(rows=-1), "bad sizes"),
        (lambda h: h["files"].pop("state"), "no state"),
        (lambda h: h["files"].update(state=h["files"]["start"]), "it holds"),
        (lambda h: h["files"]["state"].update(name="../state.safetensors"), "bad file entry"),
        (lambda h: h["files"]["state"].update(name="/etc/passwd"), "bad file entry"),
        (lambda h: h["draws"][0].update(count=5), "expected"),
        (lambda h: h["draws"][0].update(count=0), "bad counts"),
        (lambda h: h.update(draws=3), "makes no sense"),
        (lambda h: h.update(header=[]), "makes no sense"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(folder, change, message):
    edit_header(folder, change)
    with pytest.raises(ModelFileError, match=message):
        read(folder)


def test_a_header_edited_by_hand_is_refused(folder):
    edit_header(folder, lambda h: h["header"].update(a=3), sign=False)
    with pytest.raises(ModelFileError, match="checksum does not match"):
        read(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "null", "\xff\xfe", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000]
)
def test_a_header_that_is_none_is_refused(folder, text):
    (folder / "header.json").write_text(text, "latin-1")
    with pytest.raises(ModelFileError, match=r"header\.json"):
        read(folder)
    before = files_of(folder)
    with pytest.raises(ModelFileError, match=r"header\.json"):
        write(folder, noise(8, plan()), {})
    assert files_of(folder) == before


def test_a_huge_header_is_not_read(folder, monkeypatch):
    monkeypatch.setattr(model_folder, "MAX_HEADER_BYTES", 100)
    with pytest.raises(ModelFileError, match="larger than"):
        read(folder)


def test_no_folder_an_empty_one_and_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("absent", "", "file"):
        with pytest.raises(ModelFileError, match="not a model folder"):
            read(tmp_path / name)
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ModelFileError, match="cannot write"):
            write(place, noise(9, plan()), {})


@pytest.mark.parametrize("call", [0, 2, 4, 5, 6])
@pytest.mark.parametrize("broken", ["replace", "fsync"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_a_write_that_fails_leaves_the_old_model_or_the_new(
    folder, monkeypatch, broken, call, error
):
    old, new = read(folder), noise(10, plan(), 9)
    calls = iter(range(100))
    real = getattr(os, broken)

    def fail(*args):
        if next(calls) == call:
            raise error
        return real(*args)

    monkeypatch.setattr(os, broken, fail)
    failed = None
    try:
        write(folder, new, {"new": True}, ROWS)
    except BaseException as raised:
        failed = raised
    monkeypatch.undo()
    stored = read(folder)
    expected = new if stored.header == {"new": True} else old.posterior
    assert_same(stored.posterior.run, expected.run)
    assert len(files_of(folder)) == len(stored.manifest.entries()) + 1
    if isinstance(failed, ModelFileError):
        assert "No space left on device" in str(failed)
        write(folder, new, {"new": True}, ROWS)
        assert_same(read(folder).posterior.run, new.run)
    else:
        assert failed is None or isinstance(failed, KeyboardInterrupt)


def test_a_file_that_outgrows_the_disk(folder):
    old = files_of(folder)
    big = noise(11, plan(), 2000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(ModelFileError, match=r"cannot write.*File too large"):
            write(folder, big, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert files_of(folder) == old
