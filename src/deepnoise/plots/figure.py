"""A figure that keeps its letters letters, wherever it is saved."""

from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# TrueType: journals refuse matplotlib's own Type 3 fonts, and text can be searched and edited.
FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}


class PaperFigure(Figure):
    """Outside pyplot, which keeps no reference to it."""

    def savefig(self, fname: Any, **settings: Any) -> None:
        """As matplotlib's, with TrueType fonts in PDF and PostScript."""
        with mpl.rc_context(FONTS):
            super().savefig(fname, **settings)
