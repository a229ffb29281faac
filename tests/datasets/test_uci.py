"""The UCI loader on made-up folders, the downloader against a server on this machine."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from deepnoise.datasets import uci

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "uci"
SHAPES = {
    "boston": (506, 13),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "kin8nm": (8192, 8),
    "naval": (11934, 16),
    "power": (9568, 4),
    "protein": (45730, 9),
    "wine": (1599, 11),
    "yacht": (308, 6),
}
TABLE = "a,b,y\n1,2,3\n4,5.5,6\n-7,8e-3,9\n0,0,0\n"
SPLITS = "0,2\n3,1\n"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, TABLE, SPLITS)
    return tmp_path


def write(folder, table, splits=SPLITS):
    (folder / "tiny.csv").write_text(table)
    (folder / "tiny.test_rows.csv").write_text(splits)


def test_loads_a_folder(folder):
    data = uci.load_uci("tiny", folder)
    assert (data.name, data.feature_names, data.n_splits) == ("tiny", ("a", "b"), 2)
    np.testing.assert_array_equal(data.X, [[1, 2], [4, 5.5], [-7, 8e-3], [0, 0]])
    np.testing.assert_array_equal(data.y, [3, 6, 9, 0])
    train, test = data.split(1)
    np.testing.assert_array_equal(train, [0, 2])
    np.testing.assert_array_equal(test, [3, 1])
    with pytest.raises(IndexError, match="splits 0 to 1; got 2"):
        data.split(2)


def test_one_row_and_a_trailing_blank_line(folder):
    write(folder, "a,y\n1,2\n\n", "0\n\n")
    data = uci.load_uci("tiny", folder)
    assert data.X.shape == (1, 1)
    assert data.split(0)[0].size == 0


def test_folder_comes_from_argument_then_variable_then_cache(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPNOISE_UCI", str(folder))
    assert uci.load_uci("tiny").y.size == 4
    assert uci.uci_folder(tmp_path / "other") == tmp_path / "other"
    monkeypatch.delenv("DEEPNOISE_UCI")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert uci.uci_folder() == tmp_path / ".cache/deepnoise/uci"


def test_missing_files_say_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no yacht\.csv in .*download_uci\('yacht'\)"):
        uci.load_uci("yacht", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"known sets are boston.*DEEPNOISE_UCI"):
        uci.load_uci("no-such-set", tmp_path)
    (tmp_path / "yacht.csv").write_text(TABLE)
    with pytest.raises(FileNotFoundError, match=r"no yacht\.test_rows\.csv"):
        uci.load_uci("yacht", tmp_path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,b,y\n1,2,3\n4,five,6\n", r"tiny\.csv, line 3 \(row 1\), column 'b': 'five'"),
        ("a,b,y\n1,2,3\n4,,6\n", r"line 3 \(row 1\), column 'b': ''"),
        ("a,b,y\n1,2,3\n4,5\n", r"line 3 \(row 1\): 2 cells where the header has 3"),
        ("a,b,y\n1,2\n4,5\n", r"line 2 \(row 0\): 2 cells where the header has 3"),
        ("a,b,y\n1,nan,3\n", r"line 2 \(row 0\), column 'b': 'nan' is not a finite"),
        ("a,b,y\n1,2,inf\n", r"column 'y': 'inf'"),
        ("a,b,y\n1,2,3 # no\n", r"column 'y': '3 # no'"),
        ("a,b,y\n", "no rows"),
        ("y\n1\n", "at least two columns"),
        ("", "at least two columns"),
    ],
)
def test_malformed_table_names_file_and_row(folder, table, message):
    write(folder, table)
    with pytest.raises(ValueError, match=message):
        uci.load_uci("tiny", folder)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ("0\n4\n", r"tiny\.test_rows\.csv, line 2: rows must lie in 0 to 3"),
        ("-1\n", "line 1: rows must lie"),
        ("0,0\n", "line 1: a row is listed twice"),
        ("0\n1,x\n", "line 2: not a list of row numbers"),
        ("", "no splits"),
    ],
)
def test_malformed_splits_name_file_and_line(folder, splits, message):
    write(folder, TABLE, splits)
    with pytest.raises(ValueError, match=message):
        uci.load_uci("tiny", folder)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def collection(tmp_path, monkeypatch):
    """A made-up remote collection: columns in another order, numbers in scientific notation."""
    data = tmp_path / "remote" / "tiny-set" / "data"
    data.mkdir(parents=True)
    table = np.array([[3, 1, 99, 2], [6, 4, 99, 5.5], [9, -7, 99, 8e-3], [0, 0, 99, 0]])
    np.savetxt(data / "data.txt", table)
    np.savetxt(data / "index_features.txt", [1, 3])
    np.savetxt(data / "index_target.txt", [0])
    np.savetxt(data / "index_test_0.txt", [0, 2])
    np.savetxt(data / "index_test_1.txt", [3, 1])
    expected = "x0,x1,y\n1,2,3\n4,5.5,6\n-7,0.008,9\n0,0,0\n"
    sums = [hashlib.sha256(text.encode()).hexdigest() for text in (expected, SPLITS)]
    monkeypatch.setitem(uci.SOURCES, "tiny", uci.Source("tiny-set", *sums, 2))
    handler = partial(QuietHandler, directory=tmp_path / "remote")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(uci, "BASE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield data
        server.shutdown()


def test_download_prepares_what_the_loader_reads(collection, tmp_path, monkeypatch):
    place = uci.download_uci("tiny", tmp_path / "new" / "place")
    data = uci.load_uci("tiny", place)
    np.testing.assert_array_equal(data.X, [[1, 2], [4, 5.5], [-7, 8e-3], [0, 0]])
    np.testing.assert_array_equal(data.y, [3, 6, 9, 0])
    assert [rows.tolist() for rows in data.test_rows] == [[0, 2], [3, 1]]
    assert sorted(p.name for p in place.iterdir()) == ["tiny.csv", "tiny.test_rows.csv"]
    monkeypatch.setattr(uci, "_fetch", lambda *_: pytest.fail("fetched again"))
    uci.download_uci("tiny", place)


def test_download_refuses_a_changed_source(collection, tmp_path):
    (collection / "data.txt").write_text("3 1 99 2\n")
    with pytest.raises(ValueError, match="no longer gives the data of the study"):
        uci.download_uci("tiny", tmp_path / "place")
    assert not list((tmp_path / "place").iterdir())


def test_download_without_a_network_says_how_to_go_on(collection, tmp_path):
    (collection / "data.txt").unlink()
    with pytest.raises(ConnectionError, match=r"data\.txt \(HTTP Error 404.*DEEPNOISE_UCI"):
        uci.download_uci("tiny", tmp_path / "place")
    with pytest.raises(ValueError, match="choose one of boston"):
        uci.download_uci("abalone", tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the UCI files do not lie beside this checkout")
@pytest.mark.parametrize("name", uci.NAMES)
def test_real_sets_have_their_shapes(name):
    data = uci.load_uci(name, REAL)
    assert data.X.shape == SHAPES[name]
    assert data.n_splits == uci.SOURCES[name].n_splits
    train, test = data.split(0)
    assert len(train) + len(test) == len(data.y)
    assert len(test) == pytest.approx(len(data.y) / 10, abs=1)


@pytest.mark.skipif(not REAL.is_dir(), reason="the UCI files do not lie beside this checkout")
@pytest.mark.parametrize("name", ["boston", "energy", "wine", "yacht"])
def test_checksums_are_those_of_the_prepared_files(name, monkeypatch, tmp_path):
    # The collection writes floats at full length; preparing them must give the known bytes.
    table = np.loadtxt(REAL / f"{name}.csv", delimiter=",", skiprows=1)
    remote = {
        "data.txt": table,
        "index_features.txt": np.arange(table.shape[1] - 1),
        "index_target.txt": [table.shape[1] - 1],
    }
    for k, rows in enumerate(uci.load_uci(name, REAL).test_rows):
        remote[f"index_test_{k}.txt"] = rows

    def fetch(_, file):
        np.savetxt(tmp_path / "sent", remote[file])
        return (tmp_path / "sent").read_text()

    monkeypatch.setattr(uci, "_fetch", fetch)
    uci.download_uci(name, tmp_path / "place")
    assert (tmp_path / "place" / f"{name}.csv").read_bytes() == (REAL / f"{name}.csv").read_bytes()
