"""The main line of the code: folders from data to a density, and who reads the result."""

from card import BLUE, GREEN, GREY, ORANGE, arrow, box, new_card
from matplotlib.figure import Figure

LINE = (
    ("model", "the paper:\nlaws, formulas", BLUE),
    ("inference", "X, y to\nposterior draws", BLUE),
    ("prediction", "draws, x to\na density", BLUE),
    ("estimators", "scikit-learn\ndoor", GREEN),
    ("baselines", "methods to\ncompare with", GREEN),
    ("studies", "the paper's\ntables", ORANGE),
    ("cli", "the command\nline", ORANGE),
)
BESIDE = (
    ("datasets", "synthetic laws, UCI,\nbrain images", 26),
    ("plots", "figures of a\ndensity", 198),
    ("report", "one page with\nall scores", 370),
    ("explore", "the local page\nwith sliders", 542),
)
STEP, WIDE, TALL = 94, 82, 74


def draw() -> Figure:
    figure, paper = new_card(288)
    head = {"fontsize": 9.5, "fontweight": "bold", "va": "center"}
    paper.text(26, 262, "The main line: data flow to the right, imports point to the left", **head)
    for number, (name, words, colour) in enumerate(LINE):
        x = 26 + STEP * number
        box(paper, x, 168, WIDE, TALL, colour)
        paper.text(x + WIDE / 2, 224, name, ha="center", va="center", fontsize=9, fontweight="bold")
        paper.text(
            x + WIDE / 2, 194, words, ha="center", va="center", fontsize=7.5, linespacing=1.3
        )
        if number:
            arrow(paper, (x - 12, 205), (x - 1, 205), width=1.0)
    paper.text(26, 138, "Beside it", **head)
    for name, words, x in BESIDE:
        box(paper, x, 48, 132, TALL, GREY)
        paper.text(x + 66, 104, name, ha="center", va="center", fontsize=9, fontweight="bold")
        paper.text(x + 66, 74, words, ha="center", va="center", fontsize=7.5, linespacing=1.3)
    said = (
        "plots, report and explore see estimators and densities only; datasets see nothing of ours"
    )
    paper.text(26, 24, said, fontsize=8, color=GREY, va="center")
    return figure
