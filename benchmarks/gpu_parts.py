"""States, data and the parts of an interweaved step, for ``gpu.py``."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from deepnoise.inference import gibbs, interweave
from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.kernels import GibbsKernel, InterweavedKernel
from deepnoise.inference.priors import build_prior
from deepnoise.inference.refresh import refresh
from deepnoise.inference.sampling import chain_keys
from deepnoise.inference.unseen import Data, chain_axes
from deepnoise.model.activation import hard_tanh
from deepnoise.model.network import pre_activation, sample_prior
from deepnoise.model.random import normals


@dataclass(frozen=True)
class Size:
    chains: int
    rows: int
    hidden: tuple[int, ...]
    inputs: int

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.inputs, *self.hidden, 1)


def kernel_of(sampler: str):
    if sampler == "gibbs":
        return GibbsKernel(hard_tanh, settle=0)
    return InterweavedKernel(hard_tanh, warmup=10**6, settle=0, lengths=(50,))


KERNEL, H = kernel_of("interweaved"), hard_tanh


def make_data(size: Size) -> Data:
    key = jax.random.key(0)
    x = normals(key, (size.rows, size.inputs), jnp.float32)
    noise = normals(jax.random.fold_in(key, 1), (size.rows, 1), jnp.float32)
    prior = build_prior("default", size.widths, "float32")
    stacked = jax.tree.map(lambda a: jnp.broadcast_to(a, (size.chains, *a.shape)), prior)
    return Data(x, jnp.tanh(x[:, :1]) + 0.1 * noise, stacked)


def make_state(size: Size, sampler: str):
    data, kernel = make_data(size), kernel_of(sampler)
    prior = build_prior("default", size.widths, "float32")

    def one_chain(key, data):
        theta, scales = sample_prior(key, prior, size.widths)
        return kernel.init(key, theta, scales, data)

    keys = chain_keys(0, size.chains)
    return jax.vmap(one_chain, in_axes=(0, chain_axes(data)))(keys, data)


def arguments(size: Size, sampler: str):
    """Keys, state and data of all chains."""
    return chain_keys(1, size.chains), make_state(size, sampler), make_data(size)


def latents(state: GibbsState, data):
    v, u = state.latents.clamp(data.x, data.y)
    theta = state.theta
    m = [pre_activation(*part) for part in zip(u, theta.beta, theta.gamma, strict=True)]
    return v, u, m


def variances(key, state, data):
    v, u, m = latents(state.gibbs, data)
    theta = state.gibbs.theta
    given = theta.beta, theta.gamma, state.gibbs.scales, data.prior, H
    return gibbs.draw_variances(key, v, u, m, *given)


def draw_v(key, state, data):
    _, u, m = latents(state.gibbs, data)
    return gibbs.draw_v(key, state.gibbs.theta, m, u, H)


def draw_u(key, state, data):
    return gibbs.draw_u(key, state.gibbs.theta, latents(state.gibbs, data)[0], H)


def weights(key, state, data):
    v, u, _ = latents(state.gibbs, data)
    return gibbs.draw_weights(key, v, u, state.gibbs.theta.tau2, state.gibbs.scales)


def noises_of(state, data):
    v, u = state.gibbs.latents.clamp(data.x, data.y)
    return interweave.standardise(state.gibbs.theta, v, u, H)


def gradient(_, state, data):
    noises = noises_of(state, data)
    position = interweave.to_position(state.gibbs.theta, state.gibbs.scales)
    density = lambda p: interweave.log_density(p, noises, data.x, data.y, data.prior, H)  # noqa: E731
    return jax.value_and_grad(density)(position)


def move(key, state, data):
    noises = noises_of(state, data)
    return KERNEL.move(key, jnp.asarray(0), state, noises, data.x, data.y, data)


def paths(key, state, data):
    theta = state.gibbs.theta
    return refresh(key, theta, noises_of(state, data), data.x, data.y, H, KERNEL.tries)[0]


def parts() -> dict[str, Callable]:
    """Every part of a step, as a function of (keys, state, data, a number that it ignores)."""
    named = {
        "draw_variances": variances,
        "draw_v": draw_v,
        "draw_u": draw_u,
        "draw_weights": weights,
        "one gradient": gradient,
        "Hamiltonian move": move,
        "refresh": paths,
    }
    axes = 0, 0, Data(x=None, y=None, prior=0)
    return {name: _without_count(jax.vmap(f, in_axes=axes)) for name, f in named.items()}


def _without_count(f: Callable) -> Callable:
    return lambda keys, state, data, _: f(keys, state, data)
