"""One sentence for the whole page, and what to do next."""

from dataclasses import dataclass

PROMISES = {
    "narrow": "Useful, but surer than it should be",
    "biased": "Useful, but its densities lean to one side",
    "wide": "Useful, and more careful than it needs to be",
}
RECALIBRATE = (
    "Widen or shift your decisions accordingly, or stretch the densities with model.recalibrate(X, "
    "y) on rows that are neither these nor those of the fit; then make this page again on new rows."
)


@dataclass(frozen=True)
class Overall:
    kind: str
    headline: str
    next_step: str


def overall(
    useful: str | None, calibration: str | None, settled: str | None, advice: str
) -> Overall:
    """The first thing that stands in the way, of three statuses; None where one is not asked."""
    if settled == "broken":
        return Overall("bad", "Do not use this model", advice)
    if useful is None:
        return Overall(
            "warn",
            "How good it is cannot be said",
            "Make this page again with a table that has observed outcomes.",
        )
    if useful != "useful":
        return USELESS[useful]
    if calibration in PROMISES:
        kind = "warn" if calibration == "wide" else "bad"
        return Overall(kind, PROMISES[calibration], RECALIBRATE)
    if settled in ("moving", "apart", "short", "unknown"):
        return Overall("warn", "Useful, but its chains have not settled", advice)
    if calibration == "unknown":
        return Overall(
            "warn",
            "Useful; too few rows to judge its intervals",
            "Make this page again on 20 rows or more before you rely on intervals.",
        )
    return Overall(
        "good",
        "Use it",
        "Predict new rows with deepnoise predict, and make this page again when new outcomes are "
        "known.",
    )


USELESS = {
    "unknown": Overall(
        "warn",
        "Too few rows to judge it",
        "Make this page again on more rows; some dozens give a first answer.",
    ),
    "worse": Overall(
        "bad",
        "Do not use it: ignoring all columns does better",
        "See whether these rows are of the same kind as those of the fit, and look at the rows "
        "predicted worst; then fit fewer columns or, if it has more than ten units, a smaller "
        "network (--hidden 10).",
    ),
    "same": Overall(
        "bad",
        "Not shown to be useful",
        "Judge it on more rows if you have them. If the answer stays, these columns do not tell "
        "the outcome: look for better ones.",
    ),
    "line": Overall(
        "warn",
        "Useful, but a straight line does as well",
        "Use a linear regression, unless you need what only this model gives: densities that "
        "change their shape, and bands on them. More training rows may tell the two apart.",
    ),
    "beaten": Overall(
        "bad",
        "A straight line does better",
        "Use a linear regression, or fit without hidden layers (--hidden none).",
    ),
}
