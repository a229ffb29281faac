"""The command line ``deepnoise``.  Nothing heavy is imported before a command needs it."""

import click

from .. import __version__
from .app import Commands
from .demo import demo
from .export import export
from .fit import fit, resume
from .plot import plot
from .predict import diagnose, influence, predict, score
from .report import report
from .serve import explore, serve
from .study import study, table


@click.group("deepnoise", cls=Commands)
@click.version_option(__version__, prog_name="deepnoise")
def main() -> None:
    """Density regression from tables: fit, predict, judge.

    Tables are CSV or, by their suffix, Parquet; "-" is standard input or output. Rows are counted
    from 1, the first below the header. Exit status: 0 done, 1 failed while running, 2 bad usage or
    bad input.
    """


COMMANDS = (demo, fit, predict, score, diagnose, plot, report, explore, serve, influence, resume)
for command in (*COMMANDS, study, table):
    main.add_command(command)
main.add_command(export)
