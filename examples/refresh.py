"""Run the code of pages and put what it prints below it: python examples/refresh.py README.md ...

``python`` blocks share their names, ``bash`` blocks hold commands of deepnoise; both run in one
temporary folder, at full size.  The ``text`` block right below a block is what it printed.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(
    r"^```(?P<kind>python|bash)\n(?P<code>.*?)^```\n(?P<output>\n```text\n.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)


def printed(kind: str, code: str, namespace: dict) -> str:
    """What the code writes to standard output."""
    if kind == "bash":
        command = ["bash", "-euc", code]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(compile(code, "page", "exec"), namespace)
    return text.getvalue()


def refreshed(page: str) -> str:
    namespace: dict = {"__name__": "page"}

    def run(found: re.Match) -> str:
        kind, code = found["kind"], found["code"]
        output = printed(kind, code, namespace).rstrip()
        below = f"\n```text\n{output}\n```\n" if output else ""
        return f"```{kind}\n{code}```\n{below}"

    return BLOCK.sub(run, page)


def main(paths: list[str]) -> None:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for path in map(Path, paths):
        page = path.resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = refreshed(page.read_text("utf-8"))
        page.write_text(text, "utf-8")
        print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
