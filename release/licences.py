"""Write LICENSES-DEPENDENCIES.md from the metadata of what is installed: make licences."""

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NOTES = Path(__file__).resolve().parents[1] / "LICENSES-DEPENDENCIES.md"
HEAD = f"""\
# Licences of the dependencies

deepnoise is MIT. Its wheel and sdist hold no code of others; pip installs these packages beside it.
`make licences` wrote this list from the metadata that each package declares. It holds what pip
chose for Python {sys.version_info[0]}.{sys.version_info[1]} on {sys.platform}.

| package | licence | needed by |
|---|---|---|
"""


def needed(extra: str = "") -> set[str]:
    """Names of the installed packages that deepnoise leads to, with that extra."""
    found: set[tuple[str, str]] = set()
    ahead = {("deepnoise", extra), ("deepnoise", "")}
    while ahead:
        name, extra = step = ahead.pop()
        found.add(step)
        for line in distribution(name).requires or ():
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                ahead |= {(canonicalize_name(wanted.name), e) for e in ("", *wanted.extras)} - found
    return {name for name, _ in found} - {"deepnoise"}


def licence(name: str) -> str:
    """As the package declares it: an expression, else its classifiers, else the first line."""
    metadata = distribution(name).metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classifiers = metadata.get_all("Classifier") or ()
    named = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License ::")]
    named = [line for line in named if line != "OSI Approved"]
    return ", ".join(named) or (metadata["License"] or "not declared").splitlines()[0]


def notes() -> str:
    core = needed()
    rows = [
        f"| {name} | {licence(name)} | {'deepnoise' if name in core else 'deepnoise[all]'} |\n"
        for name in sorted(core | needed("all"))
    ]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    try:
        NOTES.write_text(notes(), "utf-8")
    except PackageNotFoundError as error:
        sys.exit(f"licences: {error.name} is not installed; use make licences")
