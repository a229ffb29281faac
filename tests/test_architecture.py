"""The rules of the house (docs/contributing/architecture.md), enforced on the source as text."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "deepnoise"
PYTHON_FILES = sorted(
    p for part in ("src", "tests", "benchmarks") for p in (ROOT / part).rglob("*.py")
)
SOURCE_FILES = [p for p in PYTHON_FILES if SOURCE in p.parents]

# The data flow; a part may import itself and what stands to its left.
FLOW = ("model", "inference", "prediction", "estimators", "baselines", "studies", "cli")
MAY_IMPORT = {part: set(FLOW[: i + 1]) for i, part in enumerate(FLOW)}
MAY_IMPORT["datasets"] = {"datasets"}
MAY_IMPORT["plots"] = {"plots", "prediction", "estimators"}
MAY_IMPORT["report"] = {"report", "plots", "prediction", "estimators"}
MAY_IMPORT["explore"] = {"explore", "report", "prediction", "estimators"}
MAY_IMPORT["serve"] = {"serve", "model", "inference", "prediction", "estimators"}
MAY_IMPORT["exports"] = {"exports", *FLOW[: FLOW.index("studies")]}
MAY_IMPORT["studies"] |= {"datasets", "plots", "report"}
MAY_IMPORT["cli"] |= {"datasets", "plots", "report", "explore", "exports", "serve"}
MAY_IMPORT["__main__"] = {"cli"}
MAY_IMPORT["__init__"] = {*FLOW, "datasets", "plots", "report"}  # lazily: see below
MAY_IMPORT["lazy"] = set()
ANYWHERE = {"lazy"}

# Third-party packages: parts that are held to a list, and what the three lowest never import.
IMAGING = {"joblib", "nibabel", "nilearn", "scipy"}  # of the neuroimaging study
ONLY_PACKAGES = {"model": {"jax", "numpy"}, "datasets": {"numpy", "pandas", *IMAGING}}
NOT_BELOW_ESTIMATORS = {"click", "matplotlib", "pandas", "polars", "rich", "sklearn", "skpro"}

MAX_FUNCTION_LINES = 50
HOSTS = [("pypi", "org"), ("pythonhosted", "org"), ("anaconda", "org"), ("npmjs", "org")]


def part_of(path: Path) -> str:
    """The top-level name under deepnoise that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path: Path, text: str | None = None) -> set[str]:
    """Absolute names of everything a file imports, at its top or inside functions."""
    package = ("deepnoise", *path.relative_to(SOURCE).parts[:-1])
    modules = set()
    for node in ast.walk(ast.parse(text or path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            base = (*base, *(node.module.split(".") if node.module else ()))
            if base == ("deepnoise",):
                modules |= {f"deepnoise.{alias.name}" for alias in node.names}
            else:
                modules.add(".".join(base))
    return modules


def wrong_imports(path: Path, text: str | None = None) -> set[str]:
    """What a file must not import: parts to its right, packages outside its list."""
    part = part_of(path)
    wrong = set()
    for module in imported_modules(path, text):
        top, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if top == "deepnoise":
            if not target.startswith("__") and target not in MAY_IMPORT[part] | ANYWHERE:
                wrong.add(module)
        elif top not in sys.stdlib_module_names:
            listed = ONLY_PACKAGES.get(part)
            low = part in FLOW[: FLOW.index("estimators")]
            if (listed and top not in listed) or (low and top in NOT_BELOW_ESTIMATORS):
                wrong.add(module)
    return wrong


def named(found: dict[Path, object]) -> dict[str, object]:
    """What was found in files, those without anything left out."""
    return {str(path.relative_to(ROOT)): what for path, what in found.items() if what}


def test_imports_point_left():
    new = {part_of(path) for path in SOURCE_FILES} - set(MAY_IMPORT)
    assert not new, "a new top-level part: say in MAY_IMPORT what it may import"
    assert not named({path: wrong_imports(path) for path in SOURCE_FILES})


@pytest.mark.parametrize(
    ("file", "text", "wrong"),
    [
        ("model/a.py", "from ..inference import gibbs", {"deepnoise.inference"}),
        ("model/a.py", "def f():\n    import scipy.stats", {"scipy.stats"}),
        ("model/a.py", "import jax.numpy\nfrom .b import c\nfrom deepnoise.model import b", set()),
        (
            "inference/a.py",
            "from deepnoise.prediction.density.mixture import X",
            {"deepnoise.prediction.density.mixture"},
        ),
        ("inference/a.py", "from .. import cli", {"deepnoise.cli"}),
        ("inference/a.py", "from ..model import network\nimport optax", set()),
        ("prediction/a.py", "import sklearn.base", {"sklearn.base"}),
        ("datasets/a.py", "from ..model import network", {"deepnoise.model"}),
        ("plots.py", "from .model.network import Theta", {"deepnoise.model.network"}),
        ("cli.py", "from deepnoise import __version__\nfrom . import plots", set()),
    ],
)
def test_the_import_rule_sees_what_it_should(file, text, wrong):
    assert wrong_imports(SOURCE / file, text) == wrong


def prints(path: Path) -> list[int]:
    """Lines that print."""
    calls = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
    return [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_only_the_command_line_prints(tmp_path):
    silent = [path for path in SOURCE_FILES if part_of(path) not in {"cli", "__main__"}]
    assert not named({path: prints(path) for path in silent})
    (loud := tmp_path / "loud.py").write_text("x = 1\nprint(x)\n")
    assert prints(loud) == [2]


# These read estimators and posteriors through what is public.
READERS = {"cli", "explore", "exports", "plots", "report", "serve", "studies"}
OURSELVES = {"self", "cls", "super()"}
OTHERS_PRIVATE = {"_asdict", "_exit", "_fields", "_replace"}  # of named tuples and of os


def private_reach(path: Path) -> list[str]:
    """Private attributes that a file reads of something else; those of its own classes may be."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    own = {part.name for c in classes for part in c.body if isinstance(part, ast.FunctionDef)}
    own |= {a.attr for a in attributes if ast.unparse(a.value) == "self" and is_stored(a)}
    reached = [(a.lineno, a.attr) for a in attributes if ast.unparse(a.value) not in OURSELVES]
    asked = {"getattr", "hasattr", "setattr"}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) in asked]
    reached += [(call.lineno, ast.unparse(call.args[1]).strip("'")) for call in calls]
    private = [(line, name) for line, name in reached if re.match("_(?!_)", name)]
    return [f"{n}: {name}" for n, name in sorted(private) if name not in own | OTHERS_PRIVATE]


def is_stored(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.ctx, ast.Store)


def test_readers_reach_nothing_private(tmp_path):
    readers = [path for path in SOURCE_FILES if part_of(path) in READERS]
    readers.append(SOURCE / "estimators" / "files.py")
    assert not named({path: private_reach(path) for path in readers})
    (nosy := tmp_path / "nosy.py").write_text(
        "def f(model, row):\n    row._replace(a=1)\n    hasattr(model, '_y')\n    return model._x\n"
        "class A:\n    def _g(self, other):\n        self._b = other._b\n        other._g(1)\n"
    )
    assert private_reach(nosy) == ["3: _y", "4: _x"]


def too_long(path: Path) -> dict[str, int]:
    """Functions of a file that are too long, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, functions)]
    # The constructor of an estimator must name all its parameters, and does nothing else.
    nodes = [node for node in nodes if node.name != "__init__"]
    return {node.name: size for node in nodes if (size := code_lines(node)) > MAX_FUNCTION_LINES}


def test_functions_stay_small(tmp_path):
    assert not named({path: too_long(path) for path in PYTHON_FILES})
    (long := tmp_path / "long.py").write_text("def f():\n" + "    x = 1\n" * 400)
    assert too_long(long) == {"f": 401}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its decorators and docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def project_files() -> list[Path]:
    """Tracked files and those that would be, as git sees them."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in found.stdout.split("\0") if (ROOT / name).is_file()]


def test_no_file_names_a_package_registry():
    # Whoever installs chooses the registry; a name in a file would override that choice.
    hosts = [".".join(parts).encode() for parts in HOSTS]
    naming = [p for p in project_files() if any(host in p.read_bytes().lower() for host in hosts)]
    assert not naming


def test_constraints_are_the_only_lock_file():
    locks = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "pylock.toml"}
    assert not [p for p in project_files() if p.name in locks]


def test_public_names_agree_and_import_is_light():
    code = (
        "import sys, deepnoise;"
        "assert 'jax' not in sys.modules and 'numpy' not in sys.modules;"
        "assert set(deepnoise._HOME) == set(deepnoise.__all__)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_predicting_loads_no_sampler_of_others():
    code = "import sys, deepnoise.estimators.files; assert 'blackjax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_public_name_resolves():
    import deepnoise

    missing = [name for name in deepnoise.__all__ if not hasattr(deepnoise, name)]
    assert not missing


def test_unknown_public_name_is_an_attribute_error():
    import deepnoise

    with pytest.raises(AttributeError, match="no_such_name"):
        _ = deepnoise.no_such_name
    assert "BDeepNoiseRegressor" in dir(deepnoise)


def test_the_page_names_files_that_are_there():
    page = (ROOT / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_/]+\.py)`", page))
    there = [
        p.as_posix()
        for part in ("src", "tests", "docs", "benchmarks")
        for p in (ROOT / part).rglob("*.py")
    ]
    lost = {name for name in named if not any(path.endswith(f"/{name}") for path in there)}
    assert len(named) > 20
    assert not lost


def test_every_benchmark_is_run_by_a_test():
    scripts = [p for p in PYTHON_FILES if p.parent.name == "benchmarks"]
    scripts = {p.stem for p in scripts if '__name__ == "__main__"' in p.read_text("utf-8")}
    tests = "\n".join(p.read_text("utf-8") for p in (ROOT / "tests").glob("test_*.py"))
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", tests, re.MULTILINE))
    assert len(scripts) > 20
    assert not scripts - imported
