"""How far chains settle: scores, R-hat and effective draws of predictive means on held-out rows.

python benchmarks/settling.py yacht --data FOLDER --splits 0,1 --out rows.jsonl leapfrogs=100

"diabetes" ships with scikit-learn: its split s holds out a random tenth.  What follows the options
are parameters of BDeepNoiseRegressor, ``leapfrogs``, the length of the Hamiltonian move, and sizes
of the prior, such as ``noise_size``, the half-normal scale of hidden noise (0.0005 pins it near 0).
"""

import argparse
import ast
import json
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from deepnoise import BDeepNoiseRegressor
from deepnoise.datasets.uci import load_uci
from deepnoise.inference import posterior, priors
from deepnoise.inference.diagnostics import diagnose
from deepnoise.prediction.per_draw import PATHS_TO_JUDGE, moments
from deepnoise.prediction.predict import predictive
from deepnoise.studies.runner import versions

SIZES = {"noise_size", "weight_size", "weight_scale", "hidden_noise", "last_noise"}


def split_of(name: str, folder: str | None, split: int) -> tuple[np.ndarray, ...]:
    """X, X_test, y, y_test."""
    if name == "diabetes":
        return train_test_split(*load_diabetes(return_X_y=True), test_size=0.1, random_state=split)
    data = load_uci(name, folder)
    train, test = data.split(split)
    return data.X[train], data.X[test], data.y[train], data.y[test]


def row(model: BDeepNoiseRegressor, X, X_test, y, y_test) -> dict:
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    means, single = by_chain(model, X_test, y_test)
    found = [diagnose({"mean": chains}).rows[0] for chains in means]
    rhat, ess = (np.array([getattr(r, name) for r in found]) for name in ("rhat", "ess_bulk"))
    return model.score_report(X_test, y_test) | {
        "nll_of_a_single_chain": single,
        "rhat_largest": rhat.max(),
        "rhat_median": np.median(rhat),
        "ess_least": ess.min(),
        "ess_median": np.median(ess),
        "sweeps": model.posterior_.run.t,
        "rhat_largest_of_150": model.diagnostics_.max_rhat,
        "ess_least_of_150": model.diagnostics_.min_ess,
        "verdict": model.diagnostics_.verdict,
        "seconds": seconds,
    }


def by_chain(model: BDeepNoiseRegressor, X_test, y_test) -> tuple[np.ndarray, float]:
    """Predictive means (N, chain, draw), and the mean NLL of chains alone, without the guard.

    Means of few paths would hide slow chains behind the noise of the paths.
    """
    plan, x, losses = model.posterior_.plan, model.encoded_rows(X_test), []
    fitted = model.predictive_
    means = moments(replace(fitted.draw_densities(x), paths=PATHS_TO_JUDGE))[0][..., 0]
    for c in range(plan.chains):
        theta = jax.tree.map(lambda a: a[c], model.posterior_.draws)  # noqa: B023
        density = predictive(fitted.prediction_key(), theta, x, plan.h, model.paths)
        losses.append(-np.mean(model.units_.y.restore(density).log_prob(y_test)))
    return means.reshape(len(x), plan.chains, -1), float(np.mean(losses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set")
    parser.add_argument("--data", default=None)
    parser.add_argument("--splits", default="0")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("settings", nargs="*")
    given = parser.parse_intermixed_args()
    settings = dict(part.split("=") for part in given.settings)
    settings = {name: _value(text) for name, text in settings.items()}
    params = dict(settings)
    if leapfrogs := params.pop("leapfrogs", None):
        usual = posterior.Plan.kernel
        posterior.Plan.kernel = lambda plan: replace(usual(plan), lengths=(leapfrogs,))
    for size in SIZES & params.keys():
        setattr(priors, size.upper(), params.pop(size))
    with given.out.open("a") as out:
        for split in map(int, given.splits.split(",")):
            model = BDeepNoiseRegressor(**params, random_state=split, progress=False)
            made = {"set": given.set, "split": split, "settings": settings, "versions": versions()}
            made |= row(model, *split_of(given.set, given.data, split))
            out.write(json.dumps(made) + "\n")
            out.flush()


def _value(text: str):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


if __name__ == "__main__":
    main()
