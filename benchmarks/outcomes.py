"""How often are outcomes called predictable that are, and that are not?  Known answers.

    PYTHONPATH=src python benchmarks/outcomes.py --rows 200 --sets 20

Four inputs and six outcomes: half of the variance of the first comes from a line, 30 % of the next
two from |x1| and from x2·x3; the last three are noise, one of them with heavy tails.
"""

import argparse

import numpy as np

from deepnoise import BDeepNoiseRegressor

NAMES = ("line", "bend", "product", "noise", "noise", "heavy noise")
SHARES = np.array([0.5, 0.3, 0.3, 0.0, 0.0, 0.0])
SETTINGS = {
    "hidden": (5,), "chains": 2, "warmup": 100, "draws": 50, "thin": 2, "progress": False
}  # fmt: skip


def simulate(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (N, 4) and outcomes (N, 6) of variance one."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 6))
    noise[:, 5] = rng.standard_t(3, size=rows) / np.sqrt(3)
    signal = np.zeros((rows, 6))
    signal[:, 0] = x[:, 0]
    signal[:, 1] = (np.abs(x[:, 1]) - np.sqrt(2 / np.pi)) / np.sqrt(1 - 2 / np.pi)
    signal[:, 2] = x[:, 2] * x[:, 3]
    return x, np.sqrt(SHARES) * signal + np.sqrt(1 - SHARES) * noise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--folds", type=int, default=5)
    chosen = parser.parse_args()
    found = []
    for seed in range(chosen.sets):
        model = BDeepNoiseRegressor(**SETTINGS, random_state=seed)
        found.append(model.select_outcomes(*simulate(seed, chosen.rows), folds=chosen.folds))
        print(seed, found[-1].probability.round(3).tolist(), flush=True)
    probability = np.array([f.probability for f in found])
    skill = np.array([f.skill.mean for f in found])
    print(f"\n{'outcome':12} {'true share':>10} {'mean skill':>10} {'called predictable':>18}")
    for q, name in enumerate(NAMES):
        called = int(np.sum(probability[:, q] >= 0.95))
        print(
            f"{name:12} {SHARES[q]:10.1f} {skill[:, q].mean():10.2f} {called:12d} of {len(found)}"
        )


if __name__ == "__main__":
    main()
