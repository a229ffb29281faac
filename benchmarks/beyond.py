"""Missing inputs, outcomes seen through windows, and classes: how much the model's own way gains.

    PYTHONPATH=src python benchmarks/beyond.py make --data FOLDER --out LEDGER --jobs 12
    PYTHONPATH=src python benchmarks/beyond.py show --out LEDGER --images docs/images

``make`` fits in processes of one core each, split after split over all studies, and adds a line to
the ledger for every fit; fits that the ledger holds are not made again.  ``show`` prints Markdown
tables and draws the pictures.
"""

import argparse
import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib import import_module
from importlib.metadata import version
from itertools import chain, zip_longest
from multiprocessing import get_context
from pathlib import Path

from beyond_shared import SETTINGS, Found, append, read

# Choices were made looking at splits 0, 1 and 19: they are no fresh evidence.
SPLITS = range(2, 19)
# Module, function that lists the fits of a split, and how many splits at most.
STUDIES = {
    "missing": ("beyond_missing", "keys", len(SPLITS)),
    "censored": ("beyond_censored", "keys", len(SPLITS)),
    "classes": ("beyond_classes", "keys", len(SPLITS)),
    "survival": ("beyond_survival", "keys", 5),
    "rounded": ("beyond_censored", "rounded_keys", 5),
}
ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def listed(names: list[str], splits: list[int]) -> list[tuple]:
    """Keys of all fits: split after split, the studies by turns."""
    keys: list[tuple] = []
    for place, s in enumerate(splits):
        studies = [STUDIES[name] for name in names if place < STUDIES[name][2]]
        parts = [getattr(import_module(module), each)(s) for module, each, _ in studies]
        keys += [key for key in chain(*zip_longest(*parts)) if key is not None]
    return keys


def one_core(counter) -> None:
    """This process keeps to a core of its own, where the system can say so."""
    with counter.get_lock():
        place, counter.value = counter.value, counter.value + 1
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[place % len(cores)]})


def made(key: tuple, folder) -> tuple:
    began = time.monotonic()
    module = import_module(STUDIES[key[0]][0])
    return module.make(key, folder), time.monotonic() - began


def make(args) -> None:
    """Fit what the ledger lacks, until the budget is over."""
    known = read(args.out)
    keys = [key for key in listed(args.studies, args.splits) if key not in known]
    versions = [f"{name} {version(name)}" for name in ("jax", "numpy", "scikit-learn")]
    print(*versions, f"cores {os.cpu_count()}, {args.jobs} processes, {len(keys)} fits {SETTINGS}")
    os.environ.update(ONE_THREAD)
    context, began, took = get_context("spawn"), time.monotonic(), dict[tuple, float]()
    running: dict[Future, tuple] = {}
    with ProcessPoolExecutor(args.jobs, context, one_core, (context.Value("i", 0),)) as pool:
        while keys or running:
            left = args.budget - (time.monotonic() - began)
            keys = [key for key in keys if took.get(key[::3] + key[1:2], 0) < left]
            while keys and len(running) < args.jobs:
                key = keys.pop(0)
                running[pool.submit(made, key, args.data)] = key
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                key, error = running.pop(future), future.exception()
                if error is not None:
                    print(*key, f"failed: {type(error).__name__}: {error}", flush=True)
                    continue
                value, seconds = future.result()
                append(args.out, key, value, seconds)
                took[key[::3] + key[1:2]] = seconds
                print(*key, f"{seconds:.0f} s of {time.monotonic() - began:.0f} s", flush=True)
    print(f"{time.monotonic() - began:.0f} s in all; {len(read(args.out))} fits in {args.out}")


def show(args) -> None:
    """Tables of all studies, and their pictures."""
    from beyond_pictures import draw

    found: Found = read(args.out)
    for module in dict.fromkeys(STUDIES[name][0] for name in args.studies):
        import_module(module).show(found)
    draw(found, args.images)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("make", "show"))
    parser.add_argument("--studies", type=lambda words: words.split(","), default=list(STUDIES))
    numbers = lambda words: [int(word) for word in words.split(",")]  # noqa: E731
    parser.add_argument("--splits", type=numbers, default=list(SPLITS))
    parser.add_argument("--data", help="folder of the UCI sets")
    parser.add_argument("--out", type=Path, default=Path("docs/results/beyond.jsonl"))
    parser.add_argument("--jobs", type=int, default=1, help="processes, one core each")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--images", type=Path, default=Path("docs/images"))
    args = parser.parse_args()
    try:
        make(args) if args.what == "make" else show(args)
    except ModuleNotFoundError as error:
        raise SystemExit(f"cannot run here: {error}") from None


if __name__ == "__main__":
    main()
