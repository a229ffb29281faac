"""The command line ``deepnoise``.  Nothing heavy is imported before a command needs it."""

import click

from .. import __version__
from .app import Commands
from .demo import demo
from .explore import explore
from .export import export
from .fit import fit
from .judge import diagnose, influence, score
from .plot import plot
from .predict import predict
from .report import report
from .reproduce import table
from .resume import resume
from .serve import serve
from .study import study


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
