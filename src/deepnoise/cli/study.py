"""``deepnoise study`` and ``deepnoise table``: the paper's studies."""

from pathlib import Path
from typing import Any

import click

from . import options
from .app import BadInput, Command, note


class Studies(click.Group):
    """The studies; that of brain images is imported on first use."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*self.commands, "neuro"]

    def get_command(self, ctx: click.Context, name: str) -> Any:
        if name != "neuro":
            return super().get_command(ctx, name)
        from .neuro import neuro

        return neuro


@click.group(cls=Studies, epilog="Every study has --help, and --debug to show where errors are.")
def study() -> None:
    """Run a study of the paper."""


def ledger_options(command: Any) -> Any:
    """What both studies are told."""
    for option in reversed(
        [
            click.option(
                "--out",
                type=click.Path(path_type=Path),
                default="study.jsonl",
                help="Ledger to add to.",
            ),
            click.option(
                "--spec",
                type=click.Path(path_type=Path),
                help="TOML file of the study; by default the paper's.",
            ),
            click.option(
                "--smoke",
                is_flag=True,
                help="A tiny version that takes seconds; do not use its numbers.",
            ),
            click.option("--methods", type=options.Names(), default="", help="Only these methods."),
            click.option("--sets", type=options.Names(), default="", help="Only these sets."),
            click.option("--splits", type=click.IntRange(min=1), help="Only the first splits."),
            click.option("--jobs", type=click.IntRange(min=1), default=1, help="Processes to use."),
            click.option(
                "--scheduler", help="Dask scheduler to use instead, such as tcp://host:8786."
            ),
            click.option(
                "--batched", is_flag=True, help="B-DeepNoise only, all splits in one program."
            ),
            click.option("--retry", is_flag=True, help="Run fits that failed once more."),
            options.quiet,
        ]
    ):
        command = option(command)
    return command


@study.command(context_settings={"show_default": True})
@ledger_options
@click.option("--sizes", type=options.Counts(), help="Only these sizes.")
@click.option("--figure", type=click.Path(path_type=Path), help="Picture of Figure 1 to write.")
def synthetic(**given) -> None:
    """Reproduce the paper's Table 1 and Figure 1.

    Every fit is a line of the ledger. A study that was stopped goes on where it stopped; several
    may share a ledger. "deepnoise table" makes tables of it.
    """
    reproduce("synthetic", data=None, download=False, **given)


@study.command(context_settings={"show_default": True})
@ledger_options
@click.option("--data", type=click.Path(path_type=Path), help="Folder of UCI sets.")
@click.option("--download", is_flag=True, help="Fetch UCI sets that are not there.")
def uci(**given) -> None:
    """Reproduce the paper's Table 2.

    Every fit is a line of the ledger. A study that was stopped goes on where it stopped; several
    may share a ledger. "deepnoise table" makes tables of it.
    """
    reproduce("uci", sizes=None, figure=None, **given)


def reproduce(
    study, out, spec, smoke, data, download, methods, sets, sizes, splits, jobs, scheduler,
    batched, retry, figure, quiet,
) -> None:  # fmt: skip
    """Run a study, or go on with it."""
    if batched and scheduler:
        raise BadInput("--batched is one program on this machine: leave --scheduler out")
    from ..studies.ledger import Ledger
    from ..studies.spec import read_spec

    chosen = read_spec(spec or (f"{study}-smoke" if smoke else study)).only(
        methods=methods or None,
        sets=sets or None,
        sizes=sizes,
        splits=splits,
    )
    if chosen.study != study:
        raise BadInput(f"--spec: {spec} is of the {chosen.study} study")
    say = (lambda _: None) if quiet else note
    made = _run(_made(chosen, data, download), Ledger(out, retry), jobs, scheduler, batched, say)
    if figure:
        from ..studies.paper import figure1

        figure1(chosen, say).savefig(figure)
    click.echo(f"{made} rows added to {out}")


def _made(spec, data, download):
    if spec.study == "synthetic":
        from ..studies.paper import SyntheticStudy

        return SyntheticStudy(spec)
    from ..datasets.uci import download_uci, load_uci
    from ..studies.paper import UciStudy

    try:
        for name in spec.sets:
            download_uci(name, data) if download else load_uci(name, data)
    except OSError as error:
        raise BadInput(f"{error}" if download else f"{error}; --download fetches it") from error
    return UciStudy(spec, data)


def _run(made, ledger, jobs, scheduler, batched, say) -> int:
    if batched:
        from ..studies.batched import run_batched

        return run_batched(made, ledger, say)
    from ..studies.runner import run

    return run(made, ledger, jobs, scheduler, say)


@click.command(cls=Command)
@click.argument("ledgers", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "markdown", "latex"]),
    default="text",
    show_default=True,
)
@click.option("--metrics", type=options.Names(), default="", help="Only these, such as rmse,nll.")
def table(ledgers, style, metrics) -> None:
    """Tables of the rows of LEDGERS, beside published ones.

    Mean over splits (standard error); best in bold, or starred; a dagger where a paired test on
    the same splits cannot tell a method from the best; [n] where only n splits were run.
    """
    from ..studies.ledger import Ledger
    from ..studies.tables import METRICS, render, tables

    wrong = [name for name in metrics if name not in METRICS]
    if wrong:
        raise BadInput(f"--metrics: unknown {wrong[0]!r}; choose from {', '.join(METRICS)}")
    rows = [row for path in ledgers for row in Ledger(path).rows()]
    made = tables(rows, metrics or METRICS)
    if not made:
        raise BadInput("no finished rows in the ledger")
    click.echo("\n\n".join(render(one, style) for one in made))
    failed = [row for row in rows if row.get("error")]
    for row in failed:
        note(f"failed: {row['method']} {row['set']} split {row['split']}: {row['error']}")
