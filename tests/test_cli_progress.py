"""What the command line says while chains run."""

from types import SimpleNamespace

import pytest

from deepnoise.cli.chains import describe, next_command
from deepnoise.estimators.progress import duration


def test_progress_says_how_long():
    assert (
        describe(250, 400, 75.0, 50, 1.021) == "sampling 250/400 sweeps, 75/s, 2 s left, R-hat 1.02"
    )
    assert describe(1, 400, 0.0, 0, None) == "warm-up 1/400 sweeps"
    assert describe(400, 400, 0.25, 10, None) == "sampling 400/400 sweeps, 4 s a sweep"
    assert [duration(s) for s in (3, 300, 30000)] == ["3 s", "5 min", "8.3 h"]


@pytest.mark.parametrize(
    ("status", "command"),
    [
        ("moving", "next: deepnoise resume model --draws 400"),
        ("short", "next: deepnoise resume model --draws 400"),
        ("unknown", "next: deepnoise resume model --draws 400"),
        ("apart", "next: the same deepnoise fit with --chains 8"),
        ("settled", None),
        ("broken", None),
    ],
)
def test_the_next_command_is_one_that_helps(status, command):
    judged = SimpleNamespace(status=status, draws=200, chains=4)
    assert next_command(judged, "model") == command
