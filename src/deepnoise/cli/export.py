"""``deepnoise export``."""

import os
import shutil
from pathlib import Path
from typing import Any

import click

from . import options
from .app import BadInput, Command, note
from .models import open_finished
from .tables import check_output

FORMATS = ("onnx", "jax", "mlflow")
# So many components answer a row in about a millisecond.
MANY = 2000


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--to", "kind", type=click.Choice(FORMATS), required=True, help="Format.")
@click.option("--out", required=True, help="File to write, such as model.onnx; a folder of mlflow.")
@click.option("--draws", type=click.IntRange(min=1), help="Draws to keep of each chain.")
@click.option("--paths", type=click.IntRange(min=1), help="Noise paths to keep of each draw.")
@click.option(
    "--quantiles",
    type=options.Numbers(0, 1),
    default="0.05,0.5,0.95",
    show_default=True,
    help="Levels of quantiles that the program of jax answers.",
)
@click.option(
    "--dtype",
    type=click.Choice(("float64", "float32")),
    default="float64",
    show_default=True,
    help="Precision of onnx and jax.",
)
@options.force
def export(model, kind, out, draws, paths, quantiles, dtype, force) -> None:
    """Write MODEL as ONNX, for JAX or for MLflow.

    ONNX files and programs of JAX map encoded rows to Gaussian mixtures and hold no training rows.
    They grow with draws times paths.
    """
    if kind != "jax":
        options.refuse(("quantiles",), "only --to jax has quantiles")
    if kind == "mlflow":
        options.refuse(("dtype",), "a model of MLflow keeps its precision")
        check_folder(Path(out), force)
    else:
        check_output(out, force)
        if out == "-":
            raise BadInput("--out: a file is needed, such as model.onnx")
    if kind == "jax":
        check_output(f"{out}.json", force)
    estimator = open_finished(model, classes=True)
    if draws or paths:
        estimator = estimator.thinned(draws, paths)
    write(estimator, kind, Path(out), quantiles, dtype)
    note(said(estimator, kind, Path(out)))


def check_folder(folder: Path, force: bool) -> None:
    """An error unless the folder is free, or a model of MLflow that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not force:
        raise BadInput(f"{folder} exists: --force replaces it")
    if not (folder / "MLmodel").is_file():
        raise BadInput(f"{folder} is no model of MLflow: --force does not replace it")


def write(model: Any, kind: str, out: Path, levels: tuple[float, ...], dtype: str) -> None:
    if kind == "onnx":
        from ..exports import to_onnx

        to_onnx(model, out, dtype)
    elif kind == "jax":
        from ..exports import to_jax

        to_jax(model, out, levels, dtype)
    else:
        from ..exports.mlflow import save_model

        part = out.with_name(f".{out.name}.{os.getpid()}.part")
        try:
            save_model(model, part)
            if out.exists():
                shutil.rmtree(out)
            part.replace(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def said(model: Any, kind: str, out: Path) -> str:
    """What was written, and how to make it smaller."""
    files = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
    size = sum(path.stat().st_size for path in files)
    line = f"{out}: {size / 1e6:.2f} MB"
    components = len(model.chain_weights_) * model.posterior_.run.n_draws * model.paths
    if kind == "mlflow" or components <= MANY:
        return line
    return f"{line}, {components} components for each row; fewer with --draws 25 --paths 4"
