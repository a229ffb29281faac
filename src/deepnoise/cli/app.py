"""Commands whose errors are one line, with an exit status that says whose fault it was."""

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class BadInput(click.ClickException):
    """The user's data, model or arguments cannot be used."""

    exit_code = 2


class Failure(click.ClickException):
    """Something broke on the way: a full disk, an interrupt, a missing package."""

    exit_code = 1


class Command(click.Command):
    """A command with ``--debug``, and with errors of any kind turned into one line."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for param in self.params:
            if isinstance(param, click.Option) and param.default == "":
                param.show_default = False
        self.params.append(
            click.Option(
                ["--debug"],
                is_flag=True,
                expose_value=False,
                help="Show where an error came from.",
                callback=lambda ctx, _, value: ctx.meta.__setitem__("debug", value),
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        with one_line_errors(ctx.meta.get("debug", False)), one_line_warnings():
            return super().invoke(ctx)


class Commands(click.Group):
    """The group: prints an error and leaves with its status."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.context_settings.setdefault("max_content_width", 100)

    def main(self, *args: Any, **settings: Any) -> Any:
        settings["standalone_mode"] = False
        try:
            code = super().main(*args, **settings)
            sys.exit(code if isinstance(code, int) else 0)
        except click.ClickException as error:
            _show(error)
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            click.echo("Error: interrupted", err=True)
            sys.exit(1)


def _show(error: click.ClickException) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    message = first_line(error.format_message())
    context = getattr(error, "ctx", None)
    if context is not None:
        message += f" (see {context.command_path} --help)"
    click.echo(f"Error: {message}", err=True)


@contextmanager
def one_line_errors(debug: bool) -> Iterator[None]:
    """Errors as click's, each with its exit status; with ``debug`` the traceback too."""
    try:
        yield
    except BrokenPipeError:
        # Whoever read our output has gone; nothing may be written when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(1) from None
    except (click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        if debug:
            traceback.print_exc()
        raise translated(error) from error


def translated(error: Exception) -> click.ClickException:
    """The error as one of ours."""
    if isinstance(error, click.ClickException):
        return error
    text = first_line(str(error))
    if isinstance(error, ModuleNotFoundError):
        return Failure(text)
    if isinstance(error, ValueError) and text:
        return BadInput(text)
    if isinstance(error, OSError):
        return Failure(f"{error.filename or 'output'}: {error.strerror or error}")
    if isinstance(error, MemoryError):
        return Failure("out of memory: use fewer draws, chains or rows")
    return Failure(f"{type(error).__name__}: {text or 'no more is known'} (--debug shows where)")


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Warnings in the style of our errors."""
    shown = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: note(f"Warning: {first_line(str(message))}")
    try:
        yield
    finally:
        warnings.showwarning = shown


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def note(text: str) -> None:
    """A line for people, out of the way of what goes down a pipe."""
    click.echo(text, err=True)


def echo_json(content: Any) -> None:
    """For machines: no NaN, no infinities."""
    click.echo(json.dumps(_plain(content), indent=1, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
