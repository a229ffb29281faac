"""The page and its questions, and the server around them."""

import json
import threading
import urllib.error
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest

from deepnoise import BDeepNoiseClassifier
from deepnoise.explore import server as explorer
from deepnoise.explore.page import verdict
from deepnoise.explore.server import LARGEST, Server, Service
from tests.cli_toy import error, home, run
from tests.estimators.toy import PLAIN, Line
from tests.report.pages import LEVELS, SOURCE, TARGET, fitted, parsed, table

__all__ = ["home"]
QUESTION = {"A": [10.0, LEVELS[0]], "B": [None, LEVELS[1]], "c": 50, "width": 600}


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def server(model):
    made = Server(model, table(25, 1)[0], TARGET, SOURCE)
    threading.Thread(target=made.run, daemon=True).start()
    yield made
    made.stop()


def asked(address, question=None, **headers):
    """Status, headers and text; a question that is not bytes is sent as JSON."""
    body = question if question is None or isinstance(question, bytes) else json.dumps(question)
    body = body.encode() if isinstance(body, str) else body
    request = urllib.request.Request(address, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_the_page_is_whole_and_escaped(server):
    status, headers, text = asked(server.address)
    page = parsed(text)
    assert status == 200
    assert not page.broken
    assert not page.handlers
    assert page.tags["script"] == 1
    assert not page.tags["img"]
    assert set(page.addresses) == {"data:,", "explore.css", "explore.js", "#controls"}
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.targets) <= set(page.ids)
    assert f"Explore {TARGET}" in page.text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_script_finds_what_it_looks_for(server):
    page = parsed(asked(server.address)[2])
    for name in ("A", "B"):
        for part in ("row", "reset", "0", "0-slider", "0-outside", "0-missing", "1", "1-missing"):
            assert f"{name}-{part}" in page.ids
        assert f"facts-{name}" in page.ids
    assert {"picture", "c", "c-slider", "problem", "copy", "download"} <= set(page.ids)
    assert "filter" not in page.ids


def test_many_columns_have_a_filter():
    rows = np.random.default_rng(0).normal(size=(20, 12))
    line = Line(random_state=0).fit(rows, rows[:, 0])
    page = parsed(Service(line, rows, "y", "x.csv").get("")[1])
    assert "filter" in page.ids
    assert "no-missing" in page.ids
    assert "verdict" not in page.ids


@pytest.mark.parametrize(
    ("status", "kind"),
    [("settled", "good"), ("short", "warn"), ("apart", "warn"), ("broken", "bad")],
)
def test_the_verdict_on_the_chains(status, kind):
    found = SimpleNamespace(
        status=status,
        settled=status == "settled",
        verdict="the chains say so",
        advice="Do this.",
    )
    made = verdict(SimpleNamespace(diagnostics_=found))
    assert made.kind == kind
    assert made.found == "The chains say so."
    assert made.advice == ("" if status == "settled" else "Do this.")


def test_the_page_shows_the_verdict(server, model):
    text = parsed(asked(server.address)[2]).text
    assert verdict(model).found in text
    assert model.diagnostics_.advice in text


def test_answers(server):
    found = json.loads(asked(server.address + "answer", QUESTION)[2])
    assert found["svg"].startswith("<svg")
    assert [key for key, _ in found["facts"]["B"]][2] == "P(y ≥ 50)"
    row = json.loads(asked(server.address + "row", {"row": 2})[2])
    assert row["values"][1] == LEVELS[1]
    assert asked(server.address + "sheet", QUESTION)[2].startswith("scenario,")


MALFORMED = [
    b"",
    b"{",
    b"\xff",
    b"[" * 100_000,
    b"[1]",
    {},
    *(
        QUESTION | change
        for change in ({"c": None}, {"c": True}, {"c": "1"}, {"A": [1]}, {"width": float("nan")})
    ),
]


@pytest.mark.parametrize("question", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_question_is_answered_and_the_token_stays_secret(
    server, question, capfd, caplog
):
    status, _, text = asked(server.address + "answer", question)
    assert status == 400
    assert json.loads(text)["problem"]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_a_failure_is_logged_without_the_token(server, monkeypatch, capfd, caplog):
    def fail(*_):
        raise RuntimeError("no more memory")

    monkeypatch.setattr(explorer, "picture", fail)
    status, _, text = asked(server.address + "answer", QUESTION)
    assert status == 500
    assert "the terminal" in json.loads(text)["problem"]
    assert "no more memory" in caplog.text
    token = server.address.split("/")[3]
    assert token not in caplog.text + "".join(capfd.readouterr())


def test_nothing_without_the_token(server):
    host, token = server.address.rstrip("/").rsplit("/", 1)
    assert host.startswith("http://127.0.0.1:")
    assert len(token) >= 32
    for wrong in ("", "wrong", token[:-1], token.swapcase(), f"%2e/{token}", f"x{token}"):
        for route in ("", "/", "/explore.js", "/answer"):
            for question in (None, QUESTION):
                assert asked(f"{host}/{wrong}{route}", question)[0] == 403
    assert asked(f"{host}/?token={token}")[0] == 403
    assert asked(f"{host}/{token}/nothing")[0] == 404
    assert asked(f"{host}/{token}/nothing", QUESTION)[0] == 404


@pytest.mark.parametrize("name", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_name_that_is_not_this_machines_is_refused(server, name):
    assert asked(server.address, Host=name)[0] == 403
    assert asked(server.address + "answer", QUESTION, Host=name)[0] == 403


@pytest.mark.parametrize("name", ["localhost", "localhost:9000", "127.0.0.1:9000"])
def test_names_of_this_machine_do(server, name):
    assert asked(server.address, Host=name)[0] == 200


def test_questions_have_a_size(server):
    said = {"Content-Length": str(LARGEST + 1)}
    assert asked(server.address + "answer", QUESTION, **said)[0] == 413


def test_a_port_that_is_taken(server, home):
    port = server.address.split(":")[2].split("/")[0]
    result = run("explore", home / "model", home / "test.csv", "--port", port)
    assert f"port {port} cannot be used: Address already in use" in error(result, 1)


@pytest.mark.slow
def test_classes_are_refused_in_words(tmp_path):
    rows = np.linspace(-1, 1, 20)[:, None]
    sizes = {"hidden": (2,), "chains": 2, "warmup": 10, "draws": 10, "random_state": 0}
    model = BDeepNoiseClassifier(**sizes, **PLAIN).fit(rows, rows[:, 0] > 0)
    with pytest.raises(ValueError, match="this model predicts classes"):
        Service(model, rows, "y", "x.csv")
    model.save(tmp_path / "model")
    (tmp_path / "x.csv").write_text("a\n1\n2\n")
    message = error(run("explore", tmp_path / "model", tmp_path / "x.csv"), 2)
    assert "predicts classes" in message
