"""Class probabilities on scikit-learn's own sets, beside logistic regression and networks."""

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from beyond_shared import SETTINGS, Found, by_split, paired, table
from deepnoise import BDeepNoiseClassifier

MEASURES = ("accuracy", "log loss", "ECE", "entropy", "entropy outside", "AUROC outside")
METHODS = ("B-DeepNoise", "logistic regression", "MLP", "5 MLPs")
SETS = ("digits", "breast_cancer", "wine", "iris")
MOST_ROWS = 900
BINS = 10


def load(name: str, seed: int) -> list[np.ndarray]:
    """X, X_test, y, y_test; a third of at most ``MOST_ROWS`` rows is held out."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    return train_test_split(X[rows], y[rows], test_size=1 / 3, stratify=y[rows], random_state=seed)


def outside(rng, X: np.ndarray) -> np.ndarray:
    """Rows unlike any seen: columns shuffled apart, three times as far from their means."""
    apart = np.stack([rng.permutation(column) for column in X.T], axis=1)
    return X.mean(0) + 3 * (apart - X.mean(0))


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(np.maximum(p, 1e-300))).sum(1)


def calibration_error(p: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error of the predicted class, in bins of equal width."""
    sure, right = p.max(1), p.argmax(1) == y
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [(right[place == b].mean() - sure[place == b].mean()) for b in np.unique(place)]
    shares = [np.mean(place == b) for b in np.unique(place)]
    return float(np.abs(gaps) @ shares)


def keys(s: int) -> list[tuple]:
    return [("classes", name, s, method) for method in METHODS for name in SETS]


def make(key: tuple, _folder) -> list[float]:
    """Scores of one method on one split."""
    _, name, s, method = key
    X, X_test, y, y_test = load(name, s)
    far = outside(np.random.default_rng([0, s]), X_test)
    models = [model.fit(X, y) for model in fits(method, s)]
    p, p_far = (np.mean([m.predict_proba(x) for m in models], axis=0) for x in (X_test, far))
    return scores(p, p_far, y_test)


def fits(method: str, seed: int) -> list:
    """The models whose probabilities a method averages."""
    if method == METHODS[0]:
        return [BDeepNoiseClassifier(**SETTINGS, random_state=seed)]
    if method == METHODS[1]:
        return [make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))]
    return [
        make_pipeline(
            StandardScaler(), MLPClassifier((20, 20), max_iter=2000, random_state=5 * seed + k)
        )
        for k in range(5 if method == METHODS[3] else 1)
    ]


def scores(p: np.ndarray, p_far: np.ndarray, y: np.ndarray) -> list[float]:
    inside, out = entropy(p), entropy(p_far)
    is_far = np.repeat([0, 1], [len(inside), len(out)])
    return [
        accuracy_score(y, p.argmax(1)),
        log_loss(y, p, labels=np.arange(p.shape[1])),
        calibration_error(p, y),
        inside.mean(),
        out.mean(),
        roc_auc_score(is_far, np.concatenate([inside, out])),
    ]


def show(found: Found) -> None:
    rows = by_split(found, "classes", METHODS)
    table(("set", "method"), MEASURES, rows)
    paired("set", MEASURES, rows, METHODS[0], ("log loss", "ECE", "accuracy", "AUROC outside"))
