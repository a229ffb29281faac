"""Hooks of MkDocs for the reference: every command from click itself, and docstrings tidied."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click

PAGE = "reference/command_line.md"
PLACE = "<!-- all commands -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the commands where the page asks for them."""
    if page.file.src_uri != PAGE:
        return markdown
    if PLACE not in markdown:
        raise ValueError(f"{PAGE} has no line {PLACE}")
    return markdown.replace(PLACE, commands())


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Docstrings name things as Sphinx wants it, :func:`load`; here the name is enough."""
    if not page.file.src_uri.startswith("reference/"):
        return html
    return re.sub(r":(?:func|class|meth|mod|attr):(?=<code>)", "", html)


def commands() -> str:
    """All commands, each with a heading."""
    from deepnoise.cli import main

    return "\n\n".join(command_page(context) for context in walk(main, None, "deepnoise"))


def walk(command: click.Command, parent: Any, name: str) -> Iterator[click.Context]:
    """The contexts of a command's subcommands, and theirs."""
    context = click.Context(command, parent=parent, info_name=name)
    if not isinstance(command, click.Group):
        yield context
        return
    for inner in command.list_commands(context):
        yield from walk(command.get_command(context, inner), context, inner)


def command_page(context: click.Context) -> str:
    """One command: what it does, how it is called, and a table of its options."""
    command = context.command
    lines = [f"## {context.command_path}", ""]
    lines += [inspect.cleandoc(command.help or "").replace("\b", ""), ""]
    lines += ["```text", f"{command.get_usage(context).removeprefix('Usage: ')}", "```", ""]
    lines += ["| option | meaning | default |", "|---|---|---|"]
    for param in command.get_params(context):
        if isinstance(param, click.Option) and not param.hidden:
            lines.append(f"| {option_name(param, context)} | {meaning(param)} | {default(param)} |")
    return "\n".join(lines)


def option_name(param: click.Option, context: click.Context) -> str:
    value = "" if param.is_flag or param.count else f" {param.make_metavar(context)}"
    value = value.replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
    return f"`{', '.join(param.opts)}{value}`".replace("|", "\\|")


def meaning(param: click.Option) -> str:
    text = (param.help or "").replace("|", "\\|").replace("<", "&lt;")
    return f"{text} **Required.**".strip() if param.required else text


def default(param: click.Option) -> str:
    if isinstance(param.show_default, str):
        return param.show_default
    given = param.default
    unset = given is None or given == () or type(given).__name__ == "Sentinel"
    if unset or param.is_flag or param.required or given == "":
        return ""
    return f"`{given}`"
