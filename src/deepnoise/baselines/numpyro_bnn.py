"""numpyro's NUTS on the same network and priors as ``HMCRegressor``, for comparison."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from ..estimators import settings
from ..estimators.standardized import StandardizedRegressor
from ..inference.runtime import numerics
from ..model.activation import PiecewiseLinear, resolve_activation
from ..prediction.density.mixture import PredictiveMixture
from . import mlp
from .hmc import NOISE_PRIOR, NoisyNetwork


class NumpyroNUTSRegressor(StandardizedRegressor):
    """A Bayesian network drawn by numpyro's NUTS from prior starts.  Needs numpyro.

    Parameters
    ----------
    hidden : tuple of int
        See ``HMCRegressor``.
    activation : str or PiecewiseLinear
        See ``HMCRegressor``.
    standardize : bool or "scores"
        See ``HMCRegressor``.
    random_state : int, RandomState or None
        See ``HMCRegressor``.
    chains : int
        Chains to run.
    warmup : int
        Iterations of each chain that tune it.
    draws : int
        Draws kept of each chain.
    depth : int
        Doublings of a trajectory at most.

    Attributes
    ----------
    weights_ : dict of arrays, draws of all chains on the leading axis
    leapfrogs_ : int
        Leapfrog steps of the draws of all chains, those of the warm-up apart.
    """

    def __init__(
        self,
        hidden=(50, 50, 50, 50),
        activation="hard_tanh",
        chains=2,
        warmup=100,
        draws=100,
        depth=6,
        standardize=True,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.chains = chains
        self.warmup = warmup
        self.draws = draws
        self.depth = depth
        self.standardize = standardize
        self.random_state = random_state

    def check_settings(self) -> None:
        self._network()
        for name in ("chains", "warmup", "draws", "depth"):
            settings.count(name, getattr(self, name), 1)

    def _network(self) -> NoisyNetwork:
        return NoisyNetwork(settings.widths(self.hidden), resolve_activation(self.activation))

    def _fit(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        settings.check_float32(x, y, "use standardize=True")
        plan = self.chains, self.warmup, self.draws, self.depth
        with numerics(), jax.enable_x64(False):
            data = (jnp.asarray(a, jnp.float32) for a in (x, y))
            found = _chains(self._network(), plan, jax.random.key(seed), *data)
            self.weights_, leapfrogs = jax.tree.map(np.asarray, found)
        self.leapfrogs_ = int(leapfrogs.sum())

    def _density(self, x: np.ndarray) -> PredictiveMixture:
        return mlp.density(self._network(), self.weights_, self.seed_, x)


@partial(jax.jit, static_argnums=(0, 1))
def _chains(network: NoisyNetwork, plan: tuple[int, int, int, int], key, x, y):
    """Draws of all chains on one axis, and how many leapfrog steps each took.

    One program of ours: by itself, ``MCMC`` compiles anew at every fit.
    """
    from numpyro.infer import MCMC, NUTS

    count, warmup, draws, depth = plan
    chains = MCMC(
        NUTS(partial(_model, network.hidden, network.h), max_tree_depth=depth),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=count,
        chain_method="vectorized",
        progress_bar=False,
    )
    chains.run(key, x, y, extra_fields=("num_steps",))
    return chains.get_samples(), chains.get_extra_fields()["num_steps"]


def _model(hidden: tuple[int, ...], h: PiecewiseLinear, x, y) -> None:
    """The model of :class:`NoisyNetwork` as numpyro writes one."""
    import numpyro
    import numpyro.distributions as dist

    widths = (x.shape[1], *hidden, y.shape[1])
    weights = {}
    for l, (fan_in, out) in enumerate(pairwise(widths)):
        wide = dist.Normal(jnp.zeros((out, fan_in)), fan_in**-0.5).to_event(2)
        weights[f"w{l}"] = numpyro.sample(f"w{l}", wide)
        weights[f"b{l}"] = numpyro.sample(f"b{l}", dist.Normal(jnp.zeros(out), 1.0).to_event(1))
    noise = dist.Normal(jnp.full(y.shape[1], NOISE_PRIOR[0]), NOISE_PRIOR[1]).to_event(1)
    sd = jnp.exp(numpyro.sample("log_noise", noise))
    numpyro.sample("y", dist.Normal(mlp.forward(weights, x, h), sd).to_event(2), obs=y)
