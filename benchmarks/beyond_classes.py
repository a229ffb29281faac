"""Class probabilities on scikit-learn's own sets, beside logistic regression and networks."""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from beyond_shared import SETTINGS, remembered, save, table
from deepnoise import BDeepNoiseClassifier
from deepnoise.plots.style import BLUE, GREEN, GREY, ORANGE, paper_style

MEASURES = ("accuracy", "log loss", "ECE", "entropy", "entropy outside", "AUROC outside")
COLOURS = {"B-DeepNoise": BLUE, "logistic": GREY, "MLP": ORANGE, "5 MLPs": GREEN}
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


def probabilities(X, y, rows: list[np.ndarray], seed: int):
    """For every method, the class probabilities of each part of ``rows``."""
    ours = BDeepNoiseClassifier(**SETTINGS, random_state=seed).fit(X, y)
    yield "B-DeepNoise", [ours.predict_proba(part) for part in rows]
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y)
    yield "logistic", [logistic.predict_proba(part) for part in rows]
    nets = [
        make_pipeline(
            StandardScaler(), MLPClassifier((20, 20), max_iter=2000, random_state=5 * seed + k)
        ).fit(X, y)
        for k in range(5)
    ]
    yield "MLP", [nets[0].predict_proba(part) for part in rows]
    yield "5 MLPs", [np.mean([net.predict_proba(part) for net in nets], axis=0) for part in rows]


def run(args) -> None:
    found: dict[tuple, list] = {}
    for s in range(args.splits):
        for name in args.sets:
            key = "classes", name, s, args.seed
            for method, row in remembered(args.out, key, lambda: judged(*key[1:])).items():  # noqa: B023
                found.setdefault((name, method), []).append(row)
    table(("set", "method"), MEASURES, found)
    draw(found, args.images / "classes.png")


def judged(name: str, s: int, seed: int) -> dict[str, list[float]]:
    """Scores of every method on one split."""
    X, X_test, y, y_test = load(name, seed + s)
    far = outside(np.random.default_rng([seed, s]), X_test)
    began, found = time.perf_counter(), {}
    for method, (p, p_far) in probabilities(X, y, [X_test, far], seed + s):
        found[method] = scores(p, p_far, y_test)
        took = time.perf_counter() - began
        print(name, s, method, np.round(found[method], 3).tolist(), f"{took:.0f} s", flush=True)
    return found


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


@paper_style
def draw(found: dict[tuple, list], path) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    names = list(dict.fromkeys(name for name, _ in found))
    for axis, measure in zip(axes, ("log loss", "ECE", "AUROC outside"), strict=True):
        column = MEASURES.index(measure)
        for m, (method, colour) in enumerate(COLOURS.items()):
            values = np.array([[row[column] for row in found[name, method]] for name in names])
            place = np.arange(len(names)) + 0.18 * (m - 1.5)
            axis.plot(place, values, ".", color=colour, alpha=0.4)
            axis.plot(place, values.mean(1), "o", color=colour, label=method)
        axis.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names])
        axis.set(title=measure)
    axes[0].legend()
    save(figure, path)
