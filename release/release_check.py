"""Build wheel and sdist, look into them, and use them in clean environments of every Python.

make release-check             a Python that is not found is skipped, and the summary says so
make release-check STRICT=1    for a release: every Python, and a dated entry in CHANGELOG.md

Only the standard library: the tools go into an environment that is thrown away.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
SMOKE = Path(__file__).with_name("smoke.py")
RENDER = Path(__file__).with_name("render_recipe.py")
MOST_BYTES = 1_000_000
# What the sdist carries beside src/: to build from, and notes.  No tests, pages, ledgers, pictures.
SDIST_FILES = {
    *(".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "LICENSES-DEPENDENCIES.md"),
    *("PKG-INFO", "README.md", "constraints.txt", "pyproject.toml"),
}


def version() -> str:
    """The version of the source, without importing it."""
    text = (ROOT / "src/deepnoise/__init__.py").read_text("utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def supported_pythons() -> list[str]:
    """3.11 and so on, from the classifiers of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return re.findall(
        r"Programming Language :: Python :: (3\.\d+)", "\n".join(project["classifiers"])
    )


def source_files() -> set[str]:
    """Files below src/ as git sees them: tracked, and those that would be."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in names.split("\0") if (ROOT / name).is_file()}


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run it quietly, with the pinned versions; what it printed is shown when it fails."""
    pins = (ROOT / "constraints.txt").as_uri()  # an address may hold no spaces, a path may
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    env |= {"PIP_CONSTRAINT": pins, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def build(tools: Path) -> tuple[Path, Path]:
    """Wheel and sdist in dist/, the wheel made from the sdist; metadata and recipe checked."""
    shutil.rmtree(DIST, ignore_errors=True)
    python = tools / "bin/python"
    run(sys.executable, "-m", "venv", tools)
    run(python, "-m", "pip", "install", "build", "twine", "py-rattler-build")
    run(python, "-m", "build", "--outdir", DIST, ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(python, "-m", "twine", "check", "--strict", wheel, sdist)
    run(python, RENDER, version())
    return wheel, sdist


def check_content(wheel: Path, sdist: Path) -> None:
    """Both hold every file of src/deepnoise, the sdist a few notes, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {f"src/{n}" for n in archive.namelist() if not n.split("/")[0].endswith("-info")}
    same("wheel", inside, source_files())
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    same("sdist", inside, source_files() | SDIST_FILES)
    for path in (wheel, sdist):
        size = path.stat().st_size
        print(f"release-check: {path.name}, {size / 1000:.0f} kB")
        if size > MOST_BYTES:
            raise RuntimeError(f"{path.name} has {size} bytes, more than {MOST_BYTES}")


def same(name: str, inside: set[str], wanted: set[str]) -> None:
    if inside != wanted:
        missing, extra = sorted(wanted - inside), sorted(inside - wanted)
        raise RuntimeError(f"{name}: missing {missing}, not wanted {extra}")


def check_changelog() -> None:
    heading = rf"^## \[{re.escape(version())}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        raise RuntimeError(f"CHANGELOG.md has no dated heading for {version()}")


def find_python(wanted: str) -> str | None:
    """A Python of that version that starts and makes environments: on PATH, or of pyenv."""
    candidates = [f"python{wanted}"]
    if shutil.which("pyenv"):
        prefix = subprocess.run(["pyenv", "prefix", wanted], capture_output=True, text=True)
        candidates.append(f"{prefix.stdout.strip()}/bin/python{wanted}")
    probe = f"import ensurepip, sys; sys.exit('%d.%d' % sys.version_info[:2] != '{wanted}')"
    for candidate in filter(shutil.which, candidates):
        if subprocess.run([candidate, "-c", probe], capture_output=True).returncode == 0:
            return candidate
    return None


def try_archives(python: str, wheel: Path, sdist: Path) -> None:
    """Install and use the wheel, and then the sdist, in one new environment; resolve [all]."""
    with tempfile.TemporaryDirectory(prefix="deepnoise-release-") as folder:
        run(python, "-m", "venv", folder)
        inside = Path(folder, "bin/python")
        for how in ([wheel], ["--no-deps", "--force-reinstall", sdist]):
            run(inside, "-m", "pip", "install", *how)
            run(inside, SMOKE, version(), cwd=Path(folder))
        run(inside, "-m", "pip", "check")
        run(inside, "-m", "pip", "install", "--dry-run", f"{wheel}[all]")


def check_python(wanted: str, wheel: Path, sdist: Path) -> str:
    """One line for the summary."""
    python = find_python(wanted)
    if python is None:
        return f"SKIPPED: no python{wanted} that starts, on PATH or of pyenv"
    started = time.monotonic()
    try:
        try_archives(python, wheel, sdist)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return "FAILED"
    return f"passed: wheel, sdist and the extras of [all], {time.monotonic() - started:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strict", action="store_true", help="as for a release")
    strict = parser.parse_args().strict
    try:
        if strict:
            check_changelog()
        with tempfile.TemporaryDirectory(prefix="deepnoise-tools-") as tools:
            wheel, sdist = build(Path(tools))
        check_content(wheel, sdist)
    except RuntimeError as error:
        print(f"release-check: {error}", file=sys.stderr)
        return 1
    lines = {}
    for wanted in supported_pythons():
        lines[wanted] = check_python(wanted, wheel, sdist)
        print(f"release-check: Python {wanted} {lines[wanted]}", flush=True)
    print(f"\nrelease-check: deepnoise {version()}, metadata, content and conda recipe checked")
    for wanted, line in lines.items():
        print(f"  Python {wanted}  {line}")
    wrong = ("FAILED", "SKIPPED") if strict else ("FAILED",)
    return int(any(line.startswith(wrong) for line in lines.values()))


if __name__ == "__main__":
    sys.exit(main())
