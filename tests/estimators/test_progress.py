"""What is shown while a fit runs."""

import io
import sys

import pytest

from deepnoise.estimators import progress
from deepnoise.estimators.progress import Speed, reporting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def use_terminal(monkeypatch):
    # Not a fixture: pytest puts its own stderr in place between set-up and test.
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_nothing_where_nobody_looks(capsys):
    for choice in (None, False):
        with reporting(choice) as report:
            assert report is None
    assert capsys.readouterr().err == ""


def test_nothing_when_refused(monkeypatch):
    use_terminal(monkeypatch)
    with reporting(False) as report:
        assert report is None


def test_a_function_is_called_as_it_is():
    with reporting(max) as report:
        assert report is max


def test_lines_of_text(capsys, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with reporting(True) as report:
        for done in range(0, 101, 10):
            report(done, 100, None)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0/100 sweeps"
    assert lines[-1].startswith("100/100 sweeps, ")
    assert any(line.endswith("s left") for line in lines)
    assert len(lines) < 11


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = use_terminal(monkeypatch)
    pytest.importorskip("rich")
    with reporting(None) as report:
        report(10, 100, None)
        report(100, 100, None)
    assert "100/100 sweeps" in terminal.getvalue()


def test_lines_on_a_terminal_without_rich(monkeypatch):
    terminal = use_terminal(monkeypatch)
    monkeypatch.setattr(progress, "find_spec", lambda _: None)
    with reporting(None) as report:
        assert report is None
    with reporting(True) as report:
        report(1, 1, None)
    assert terminal.getvalue() == "1/1 sweeps\n"


def test_something_else_is_an_error():
    with (
        pytest.raises(ValueError, match="progress must be None, True, False or a function"),
        reporting("x"),
    ):
        pass


def test_speed_does_not_count_what_came_before(monkeypatch):
    clock = iter([5.0, 6.0, 7.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    speed = Speed()
    assert [speed(100), speed(110), speed(130)] == [0.0, 10.0, 15.0]
