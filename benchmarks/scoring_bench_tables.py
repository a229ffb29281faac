"""Tables by name, and ScoringBench's folds of them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_diabetes
from sklearn.model_selection import KFold

from deepnoise.datasets.uci import NAMES, load_uci

SEED = 42
FOLDS = 5
MOST_ROWS = 3000  # of training and test together
Table = tuple[pd.DataFrame, pd.Series]


def load(name: str, folder: str | None = None) -> Table:
    """A table: diabetes, a UCI set, the path of a CSV file (last column: outcome), openml:ID."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True, as_frame=True)
    if name in NAMES:
        data = load_uci(name, folder)
        return pd.DataFrame(data.X, columns=list(data.feature_names)), pd.Series(data.y)
    if name.startswith("openml:"):
        return prepared(*fetch_openml(data_id=int(name[7:]), as_frame=True, return_X_y=True))
    if Path(name).is_file():
        table = pd.read_csv(name)
        return prepared(table.iloc[:, :-1], table.iloc[:, -1])
    known = ", ".join(["diabetes", *NAMES])
    raise ValueError(f"no table {name!r}: name one of {known}, a CSV file, or openml:ID")


def prepared(X: pd.DataFrame, y: pd.Series) -> Table:
    """As ScoringBench has it: rows with an outcome, levels of categories as numbers."""
    y = pd.to_numeric(pd.Series(y), errors="coerce")
    X, y = X[y.notna()].reset_index(drop=True), y[y.notna()].reset_index(drop=True)
    if y.nunique() < 4:
        raise ValueError(f"the outcome takes {y.nunique()} values; regression needs four or more")
    for column in X.select_dtypes(exclude="number"):
        X[column] = pd.Categorical(X[column]).codes
    return X, y.astype(float)


def folds(X: pd.DataFrame, y: pd.Series, count: int, most_rows: int) -> Iterator[tuple]:
    """X, X_test, y, y_test of the first folds; subsampled as ScoringBench does it."""
    caps = most_rows * (FOLDS - 1) // FOLDS, most_rows // FOLDS
    splits = KFold(FOLDS, shuffle=True, random_state=SEED).split(X)
    for fold, both in zip(range(count), splits, strict=False):
        train, test = (
            rows
            if len(rows) <= cap
            else np.random.default_rng(SEED * 10007 + fold + place).choice(rows, cap, replace=False)
            for place, (rows, cap) in enumerate(zip(both, caps, strict=True))
        )
        middle = X.iloc[train].median()
        X_train, X_test = X.iloc[train].fillna(middle), X.iloc[test].fillna(middle)
        yield X_train, X_test, y.iloc[train].to_numpy(), y.iloc[test].to_numpy()
