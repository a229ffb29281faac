"""The methods of ``side_by_side.py`` behind one door, and what each draw of them says of a mean.

Those that the package has are taken from it; bartz and a deep ensemble in PyTorch are wrapped here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from deepnoise.baselines.peers import OneOutcome, gaussians
from deepnoise.baselines.registry import make
from deepnoise.estimators.standardized import StandardizedRegressor
from deepnoise.inference.runtime import numerics
from deepnoise.model.marginal import path_means

PATHS = 64


class BartzRegressor(OneOutcome, StandardizedRegressor):
    """Bayesian additive regression trees by bartz, two chains."""

    def __init__(self, draws=200, burnin=200, standardize=True, random_state=None):
        self.draws = draws
        self.burnin = burnin
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x, y, seed):
        from bartz.BART import mc_gbart

        self.model_ = mc_gbart(
            np.asarray(x, np.float32),
            np.asarray(self._single(y), np.float32),
            ndpost=2 * self.draws,
            nskip=self.burnin,
            mc_cores=2,
            printevery=None,
            seed=seed,
        )
        jax.block_until_ready(self.model_.sigma_)

    def _density(self, x):
        means = np.asarray(self.model_.predict(np.asarray(x, np.float32))).T
        variances = np.asarray(self.model_.sigma_).reshape(-1) ** 2
        return gaussians(means, np.broadcast_to(variances, means.shape))


class TorchEnsembleRegressor(OneOutcome, StandardizedRegressor):
    """A deep ensemble in PyTorch: five networks with a mean and a variance, trained by Adam."""

    def __init__(self, epochs=200, members=5, standardize=True, random_state=None):
        self.epochs = epochs
        self.members = members
        self.standardize = standardize
        self.random_state = random_state

    def _fit(self, x, y, seed):
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)  # networks this small wait for each other's threads
        data = [torch.tensor(a, dtype=torch.float32) for a in (x, self._single(y))]
        self.networks_ = [self._trained(torch, *data) for _ in range(self.members)]

    def _trained(self, torch, x, y):
        layers = torch.nn.Linear(x.shape[1], 50), torch.nn.ReLU(), torch.nn.Linear(50, 50)
        network = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(50, 2))
        optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
        for _ in range(self.epochs):
            for rows in torch.randperm(len(x)).split(32):
                mean, raw = network(x[rows]).T
                variance = torch.nn.functional.softplus(raw) + 1e-6
                loss = torch.nn.functional.gaussian_nll_loss(mean, y[rows], variance)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return network

    def _density(self, x):
        import torch

        with torch.no_grad():
            x = torch.tensor(x, dtype=torch.float32)
            found = np.stack([network(x).numpy().astype(float) for network in self.networks_], 1)
        return gaussians(found[..., 0], np.logaddexp(0, found[..., 1]) + 1e-6)


def means_of_draws(model: Any, X: np.ndarray, paths: int = PATHS) -> np.ndarray | None:
    """E(y | x, draw) in standardised units, (rows, chain, draw); None for what has no chains."""
    x = model.encoded_rows(X)
    if hasattr(model, "posterior_"):
        return _noisy_means(model, x, paths)
    if not hasattr(model, "draws"):
        return None
    means = model._density(x).components().means[..., 0]
    return means.reshape(len(x), -1, model.draws)


def _noisy_means(model: Any, x: np.ndarray, paths: int) -> np.ndarray:
    """All draws share the noise of the paths, which would otherwise count as independence."""
    draws, h = model.posterior_.draws, model.posterior_.plan.h
    with numerics():
        key = jax.random.key(0)
        mean = jax.jit(lambda theta: path_means(key, theta, x, h, paths).mean(0)[:, 0])
        chains = jax.lax.map(lambda chain: jax.lax.map(mean, chain), draws)
        return np.moveaxis(np.asarray(chains, float), 2, 0)


@dataclass(frozen=True)
class Method:
    """A label, the package it needs, and estimators of rising effort.

    ``compiled`` by JAX: not at all (0), with the first fit (1), or with every new effort (2).
    """

    label: str
    package: str
    make: Callable[..., Any]
    levels: tuple[dict[str, Any], ...]
    compiled: int = 0


def _ours(name: str) -> Callable[..., Any]:
    return lambda **settings: make(name, **settings)


def _chains(*levels: tuple[int, int], **settings: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"warmup": warmup, "draws": draws, **settings} for warmup, draws in levels)


TREES = tuple({"burnin": draws, "draws": draws} for draws in (50, 200, 500))
NET = {"hidden": (20, 20)}
METHODS = (
    Method(
        "deepnoise",
        "deepnoise",
        _ours("bdeepnoise"),
        tuple(
            {"warmup": warmup, "draws": 200, "thin": thin, "progress": False, **NET}
            for warmup, thin in ((200, 1), (600, 3), (1200, 6))
        ),
        compiled=1,
    ),
    Method(
        "NUTS (numpyro)",
        "numpyro",
        _ours("numpyro"),
        _chains((50, 25), (100, 50), (200, 100), depth=7, **NET),
        compiled=2,
    ),
    Method(
        "HMC (blackjax)",
        "blackjax",
        _ours("bnn"),
        _chains((50, 25), (200, 100), (400, 400), steps=2000, **NET),
        compiled=2,
    ),
    Method("BART (bartz)", "bartz", BartzRegressor, TREES, compiled=2),
    Method("BART (stochtree)", "stochtree", _ours("bart"), TREES),
    Method(
        "NGBoost",
        "ngboost",
        _ours("ngboost"),
        tuple({"estimators": n} for n in (50, 200, 800)),
    ),
    # Compiled anew at every fit: its seconds include it.
    Method("BDE", "bde", _ours("bde"), _chains((500, 100), (2000, 400), (5000, 1000))),
    Method(
        "ensemble (PyTorch)",
        "torch",
        TorchEnsembleRegressor,
        tuple({"epochs": n} for n in (20, 80, 320)),
    ),
)
