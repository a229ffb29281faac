"""``deepnoise study``: the paper's studies, each imported when it is asked for."""

from importlib import import_module
from typing import Any

import click

from .app import Command

# Name of the command -> module beside this one that holds it under the same name.
STUDIES = {"synthetic": "reproduce", "uci": "reproduce", "neuro": "neuro"}


class Studies(click.Group):
    """Commands that are imported on first use."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(STUDIES)

    def get_command(self, ctx: click.Context, name: str) -> Any:  # noqa: ARG002
        if name not in STUDIES:
            return None
        return getattr(import_module(f".{STUDIES[name]}", __package__), name)


@click.group(cls=Studies, epilog="Every study has --help, and --debug to show where errors are.")
def study() -> None:
    """Run a study of the paper."""
