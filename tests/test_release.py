"""What a release says of itself agrees, without building one: `make release-check` does that."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import deepnoise

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "release"))

import release_check  # noqa: E402

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
RECIPE = ROOT / "release/conda/recipe.yaml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# For developers, for formats of others, and what cannot live in one environment with the rest.
NOT_IN_ALL = {"all", "browser", "demo", "dev", "docs", "ngboost", "peers", "test"}
NOT_IN_ALL |= {"jax", "mlflow", "onnx", "qp", "shap"}
PINNED = set(
    re.findall(r"^([a-z0-9-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def bare(requirements: list[str]) -> set[str]:
    """Requirements without the spaces that conda wants and pip does not."""
    return {line.replace(" ", "") for line in requirements}


def recipe() -> dict:
    """The conda recipe, its names replaced by what they stand for."""
    text = RECIPE.read_text("utf-8")
    context = yaml.safe_load(text)["context"] | {"PYTHON": "python"}
    return yaml.safe_load(re.sub(r"\$\{\{ (\w+) \}\}", lambda found: context[found[1]], text))


def requirements(extra: str) -> list[Requirement]:
    """What an extra adds, through the extras that it names."""
    found = [Requirement(line) for line in PROJECT["optional-dependencies"][extra]]
    nested = [part for r in found if r.name == PROJECT["name"] for part in r.extras]
    own = [r for r in found if r.name != PROJECT["name"]]
    return own + [r for part in nested for r in requirements(part)]


def steps(workflow: Path) -> list[dict]:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_the_version_has_one_place():
    assert PROJECT["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"] == {"path": "src/deepnoise/__init__.py"}
    assert release_check.version() == deepnoise.__version__
    assert recipe()["package"]["version"] == deepnoise.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == deepnoise.__version__
    assert f"## [{deepnoise.__version__}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_conda_recipe_wants_what_pyproject_wants():
    python = f"python{PROJECT['requires-python']}"
    wanted = recipe()["requirements"]
    assert bare(wanted["run"]) == {python, *PROJECT["dependencies"]}
    assert bare(wanted["host"]) == {python, "pip", *PYPROJECT["build-system"]["requires"]}


def test_every_extra_for_users_is_in_all():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(PROJECT["optional-dependencies"]) - Requirement(everything).extras == NOT_IN_ALL


def test_the_conda_recipe_constrains_what_all_adds():
    wanted = {(canonicalize_name(r.name), str(r.specifier)) for r in requirements("all")}
    lines = [line.split(" ") for line in recipe()["requirements"]["run_constraints"]]
    assert {name for name, _ in lines} == {name for name, _ in wanted}
    assert {tuple(line) for line in lines} <= wanted


def test_the_conda_recipe_describes_the_same_package():
    made = recipe()
    assert made["about"]["summary"] == PROJECT["description"]
    assert made["about"]["license"] == PROJECT["license"]
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert made["build"]["python"]["entry_points"] == scripts
    assert made["source"]["path"] == f"../../dist/deepnoise-{deepnoise.__version__}.tar.gz"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_make_targets_only(workflow):
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    for command in commands:
        target = re.fullmatch(r"make ([a-z-]+)( [A-Z]+=\w+)*", command)
        assert target, command
        assert target[1] in TARGETS, command
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert all(re.match(r"actions/(checkout|setup-python|upload-artifact)@", u) for u in used)


def test_everything_runs_the_same_pythons():
    pythons = release_check.supported_pythons()
    assert len(pythons) == 3
    release, test = (yaml.safe_load(path.read_text("utf-8"))["jobs"] for path in WORKFLOWS)
    assert test["fast"]["strategy"]["matrix"]["python"] == pythons
    setup = next(
        s for s in release["release-check"]["steps"] if "python-version" in s.get("with", {})
    )
    assert setup["with"]["python-version"].split() == pythons
    low, high = (int(minor) for minor in re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    assert pythons == [f"3.{minor}" for minor in range(low, high)]


def test_the_package_data_are_complete():
    # hatchling takes all of a package that git does not ignore: nothing may be ignored or excluded.
    targets = PYPROJECT["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/deepnoise"]}
    assert "/src" in targets["sdist"]["include"]
    assert "exclude" not in targets["sdist"]
    try:
        seen = release_check.source_files()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = (path.relative_to(ROOT) for path in (ROOT / "src/deepnoise").rglob("*"))
    data = {str(p) for p in paths if (ROOT / p).is_file() and p.suffix not in (".py", ".pyc")}
    assert {".css", ".html", ".j2", ".js", ".toml"} <= {Path(name).suffix for name in data}
    assert data <= seen


def test_the_sdist_lists_what_pyproject_includes():
    include = {
        name.strip("/")
        for name in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    }
    assert include - {"src"} < release_check.SDIST_FILES
    made_by_the_build = {"PKG-INFO"}
    assert all((ROOT / name).is_file() for name in release_check.SDIST_FILES - made_by_the_build)


def test_content_that_differs_is_named():
    with pytest.raises(RuntimeError, match=r"wheel: missing \['b'\], not wanted \['c'\]"):
        release_check.same("wheel", {"a", "c"}, {"a", "b"})


def test_a_python_that_is_not_here_is_skipped_aloud():
    line = release_check.check_python("3.99", Path("wheel"), Path("sdist"))
    assert line.startswith("SKIPPED: no python3.99")


def test_licence_notes_name_every_dependency():
    notes = (ROOT / "LICENSES-DEPENDENCIES.md").read_text("utf-8")
    assert "make licences" in notes
    assert "not declared" not in notes
    listed = set(re.findall(r"^\| ([a-z0-9-]+) \|", notes, re.MULTILINE)) - {"package"}
    every = [*map(Requirement, PROJECT["dependencies"]), *requirements("all")]
    names = {canonicalize_name(r.name) for r in every}
    assert names <= listed, "run `make licences`"
    assert listed <= PINNED, "packages that constraints.txt does not pin, or old rows"


def test_the_tools_of_a_release_are_pinned():
    assert {"build", "hatchling", "py-rattler-build", "twine"} <= PINNED
