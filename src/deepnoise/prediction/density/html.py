"""How densities look in a notebook: the first rows as numbers and a small curve."""

from typing import TYPE_CHECKING

import numpy as np

from ...inference.notebook import table

if TYPE_CHECKING:
    from .supported import Density

ROWS = 5
POINTS = 80
WIDTH, HEIGHT = 160, 28
COLUMNS = ("row", "mean", "sd", "5 %", "50 %", "95 %")


def mixture_html(density: "Density") -> str:
    shown = min(len(density), ROWS)
    several = density.n_outcomes > 1
    names = (COLUMNS[0], "outcome", *COLUMNS[1:]) if several else COLUMNS
    few = density[:shown].stored()
    outcomes = [_lines(few.marginal(q)) for q in range(density.n_outcomes)]
    rows = [
        [str(n), *([str(q)] if several else []), *outcomes[q][n]]
        for n in range(shown)
        for q in range(density.n_outcomes)
    ]
    more = f", the first {shown}" if shown < len(density) else ""
    return table(f"{type(density).__name__} of {_size(density)}{more}", names, rows, last="density")


def _size(density: "Density") -> str:
    rows = f"{len(density):,} row{'s' * (len(density) != 1)}"
    outcomes = f", {density.n_outcomes} outcomes" if density.n_outcomes > 1 else ""
    return f"{rows}{outcomes}, {density.n_components:,} components each"


def _lines(density: "Density") -> list[list[str]]:
    """Cells of every row; all curves on the same axis."""
    quantiles = density.quantile([0.05, 0.5, 0.95])
    ends = density.quantile([0.002, 0.998])
    grid = np.linspace(ends[:, 0].min(), ends[:, 1].max(), POINTS)
    heights = density.pdf_grid(grid)
    numbers = np.column_stack([density.mean(), np.sqrt(density.var()), quantiles])
    return [
        [*(f"{value:.4g}" for value in line), _curve(height, heights.max())]
        for line, height in zip(numbers, heights, strict=True)
    ]


def _curve(heights: np.ndarray, top: float) -> str:
    x = np.linspace(0, WIDTH, len(heights))
    y = HEIGHT - 1 - (HEIGHT - 3) * heights / top
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="density curve">'
        f'<polyline points="{points}" fill="none" stroke="currentColor"/></svg>'
    )
