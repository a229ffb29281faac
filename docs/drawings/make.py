"""Write the drawings of the explanation pages as SVG.

python docs/drawings/make.py [--out docs/images/drawings]
"""

import argparse
from pathlib import Path

import band
import card
import chains
import house
import matplotlib as mpl
import modes
import network
import sweep

DRAWINGS = {
    "network-with-noise": network.draw,
    "one-sweep": sweep.draw,
    "noise-to-modes": modes.draw,
    "credible-band": band.draw,
    "chains-judged": chains.draw,
    "main-line": house.draw,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = Path(__file__).resolve().parents[1] / "images" / "drawings"
    parser.add_argument("--out", type=Path, default=home, help="folder of the SVG files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({**mpl.rcParamsDefault, **card.STYLE, "backend": "agg"}):
        for name, draw in DRAWINGS.items():
            card.save(draw(), out / f"{name}.svg")


if __name__ == "__main__":
    main()
