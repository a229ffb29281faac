"""Geweke's joint-distribution test, by many short chains that start exactly in the joint law.

Every replicate draws (Theta, latents, y) from the model, then alternates a kernel's step with a
fresh y given the rest.  If the kernel leaves the posterior invariant, the end has the joint law:
it is compared with fresh joint draws, and, paired, with its own start.  A wrong kernel drifts.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.kernels import (
    Data,
    GibbsKernel,
    InterweavedKernel,
    InterweavedState,
    Tuning,
)
from deepnoise.model.activation import PiecewiseLinear
from deepnoise.model.inverse_gamma import InverseGamma
from deepnoise.model.network import Prior, pre_activation, sample_prior, simulate
from deepnoise.model.random import normals

from ..oracle import with_scales
from ..statistics import mean_is_zero, rejected, same_law

STEP_SIZE = 0.15
# IG(a, b) of weight, bias, preact and postact, and of the last preact: moments exist, no two are
# alike, tau2 is away from 1, and what a layer sees of the next one is informative.
LAWS = ((3.0, 4.0), (3.5, 2.0), (3.5, 5.0), (4.0, 0.6))
LAST = (4.0, 0.5)


@dataclass(frozen=True)
class Net:
    """A net with its N rows of x."""

    h: PiecewiseLinear
    widths: tuple[int, ...]
    N: int = 3
    learnt: bool = True
    sites: tuple[bool, ...] | None = None

    def x(self) -> jax.Array:
        """Fixed rows, without symmetries that could hide a mistake."""
        grid = jnp.arange(self.N * self.widths[0], dtype=float).reshape(self.N, -1)
        return 1.5 * jnp.sin(1 + 2.3 * grid) + 0.3

    def prior(self) -> Prior:
        """Laws so different that exchanging two of them shows."""
        weight, bias, preact, postact = (
            tuple(
                InverseGamma(jnp.asarray(a, float), jnp.asarray(b * (1 + 0.2 * l), float))
                for l in range(len(self.widths) - 1)
            )
            for a, b in LAWS
        )
        last = InverseGamma(*(jnp.asarray(part, float) for part in LAST))
        prior = Prior(weight, bias, (*preact[:-1], last), postact[:-1])
        return with_scales(prior, self.sites) if self.learnt else prior


@dataclass(frozen=True)
class Size:
    """``sweeps`` steps of ``replicates`` chains."""

    sweeps: int
    replicates: int


SMALL, LARGE = Size(10, 4000), Size(20, 20_000)


def drift(
    key: jax.Array, kernel, net: Net, size: Size = SMALL, least_acceptance: float = 0.0
) -> dict[str, float]:
    """The comparisons that fail at the declared rate: empty for a right kernel."""
    return rejected(p_values(key, kernel, net, size, least_acceptance))


def gibbs_kernel(h: PiecewiseLinear, rows: int | None = None) -> GibbsKernel:
    return GibbsKernel(h, settle=0, rows=rows)


def interweaved_kernel(h: PiecewiseLinear, leapfrogs: int = 5) -> InterweavedKernel:
    return InterweavedKernel(h, warmup=0, settle=0, lengths=(leapfrogs,))


def p_values(key, kernel, net: Net, size: Size, least_acceptance: float) -> dict[str, float]:
    """Of every functional: end against fresh draws (KS), end against start (location, spread)."""
    key_joint, key_chain = jax.random.split(key)
    R = size.replicates
    joint = joint_draws(jax.random.split(key_joint, 5 * R), net)
    start = jax.tree.map(lambda a: a[:R], joint)
    # A new function a call: a patched conditional must be traced again.
    chains = jax.jit(jax.vmap(partial(chain, kernel=kernel, net=net, sweeps=size.sweeps)))
    *end, acceptance = chains(jax.random.split(key_chain, R), *start)
    assert acceptance.mean() > least_acceptance
    values = jax.tree.map(np.asarray, functionals(*map(_stack, joint, end), net))
    return {
        f"{name}.{i} {kind}": p
        for name, column in values.items()
        for i in range(column.shape[1])
        for kind, p in _compare(column[:R, i], column[5 * R :, i], column[R : 5 * R, i]).items()
    }


def _stack(first, then):
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), first, then)


def _compare(start, end, fresh) -> dict[str, float]:
    """Paired comparisons are of ranks among the fresh draws, so heavy tails do no harm."""
    if not np.isfinite(end).all():
        return {"finite": 0.0}
    order = np.sort(fresh)
    before, after = (np.searchsorted(order, part) / len(order) - 0.5 for part in (start, end))
    return {
        "law": same_law(end, fresh),
        "location": mean_is_zero(after - before),
        "spread": mean_is_zero(after**2 - before**2),
    }


@partial(jax.jit, static_argnums=1)
def joint_draws(keys: jax.Array, net: Net) -> tuple[GibbsState, jax.Array]:
    """Everything from the model, y included, for each key."""

    def one(key):
        key_theta, key_rows = jax.random.split(key)
        theta, scales = sample_prior(key_theta, net.prior(), net.widths, float)
        latents, y = simulate(key_rows, theta, net.x(), net.h)
        return GibbsState(theta, scales, latents), y

    return jax.vmap(one)(keys)


def redraw_y(key: jax.Array, state: GibbsState, x: jax.Array) -> jax.Array:
    """y given Theta and the latents."""
    theta, u = state.theta, (x, *state.latents.u)[-1]
    m = pre_activation(u, theta.beta[-1], theta.gamma[-1])
    return m + jnp.sqrt(theta.tau2[-1]) * normals(key, m.shape, m.dtype)


def fixed_tuning(kernel: InterweavedKernel, state: GibbsState) -> Tuning:
    """A tuning that a kernel with warmup = 0 never changes; masses differ between coordinates."""
    # A density that jumps rejects long trajectories.
    step_size = STEP_SIZE if np.isfinite(kernel.h.lipschitz) else STEP_SIZE / 6
    moved = state.theta, state.scales.noise, state.scales.weight
    size = sum(a.size for a in jax.tree.leaves(moved))
    adapted = kernel._dual_averaging()[0](step_size)._replace(log_step_size_avg=np.log(step_size))
    adapted = jax.tree.map(lambda a: jnp.asarray(a, float), adapted)
    never = jnp.zeros(2, int)
    return Tuning(adapted, jnp.linspace(0.7, 1.5, size), jnp.zeros(1), jnp.zeros(()), never)


def chain(key: jax.Array, state: GibbsState, y, kernel, net: Net, sweeps: int):
    """State and y after the sweeps of one successive-conditional chain, and the acceptance rate."""
    x, prior = net.x(), net.prior()

    def sweep(t, carry):
        state, y, accepted = carry
        key_step, key_y = jax.random.split(jax.random.fold_in(key, t))
        data = Data(x, y, prior)
        if isinstance(kernel, InterweavedKernel):
            full = InterweavedState(state, fixed_tuning(kernel, state))
            full = kernel.step(key_step, t, full, data)
            state, accepted = full.gibbs, accepted + full.tuning.acceptance
        else:
            state, accepted = kernel.step(key_step, t, state, data), accepted + 1.0
        return state, redraw_y(key_y, state, x), accepted

    end, y, accepted = jax.lax.fori_loop(0, sweeps, sweep, (state, y, jnp.zeros(())))
    return end, y, accepted / sweeps


@partial(jax.jit, static_argnums=2)
def functionals(states: GibbsState, ys: jax.Array, net: Net) -> dict[str, jax.Array]:
    """Named columns for each replicate: coordinates, standardised noises and weights, products."""

    def one(state, y):
        x = net.x()
        found = {}
        for l in range(state.theta.L + 1):
            found |= _layer(l, state, *state.latents.clamp(x, y), net.h)
        if net.learnt:
            found |= _scales(state, net.prior())
        return {name: jnp.ravel(part) for name, part in found.items()}

    return jax.vmap(one)(states, ys)


def _scales(state: GibbsState, prior: Prior) -> dict[str, jax.Array]:
    theta, scales = state.theta, state.scales
    found = {"noise": scales.noise}
    scaled = zip(scales.weight, prior.scaled_weights(scales.rho2), strict=True)
    for l, (weight, (rho2, _)) in enumerate(scaled):
        found |= {f"weight[{l}]": weight, f"rho2[{l}]/weight": rho2 / weight}
    for l in range(theta.L):
        found[f"tau2[{l}]/noise"] = theta.tau2[l] / scales.noise
        found[f"sigma2[{l}]/noise"] = theta.sigma2[l] / scales.noise
    return found


def _layer(l: int, state: GibbsState, v, u, h) -> dict[str, jax.Array]:
    theta, scales = state.theta, state.scales
    beta, gamma = theta.beta[l], theta.gamma[l]
    e = (v[l] - pre_activation(u[l], beta, gamma)) / jnp.sqrt(theta.tau2[l])
    d = [(u[k + 1] - h(v[k])) / jnp.sqrt(theta.sigma2[k]) for k in range(theta.L)]
    found = {
        f"beta[{l}]": beta,
        f"gamma[{l}]": gamma,
        f"tau2[{l}]": theta.tau2[l],
        f"rho2[{l}]": scales.rho2[l],
        f"xi2[{l}]": scales.xi2[l],
        f"beta[{l}]/rho": beta / jnp.sqrt(scales.rho2[l]),
        f"gamma[{l}]/xi": gamma / jnp.sqrt(scales.xi2[l]),
        f"v[{l}]": v[l],
        f"e[{l}]": e,
        f"|e[{l}]|2": jnp.sum(e**2, 0),
        f"e[{l}] of two rows": e[0] * e[-1],
        f"beta[{l}] v u": beta * (v[l].T @ u[l]),
        f"gamma[{l}] v": gamma * jnp.sum(v[l], 0),
    }
    if l > 0:
        found[f"v[{l}] v[{l - 1}]"] = v[l].T @ v[l - 1]
        found[f"beta[{l}] e[{l}] d[{l - 1}]"] = beta * (e.T @ d[l - 1])
    if l < theta.L:
        found |= {
            f"sigma2[{l}]": theta.sigma2[l],
            f"u[{l + 1}]": u[l + 1],
            f"d[{l}]": d[l],
            f"|d[{l}]|2": jnp.sum(d[l] ** 2, 0),
            f"d[{l}] e[{l}]": jnp.sum(d[l] * e, 0),
            f"d[{l}] v[{l}]": jnp.sum(d[l] * v[l], 0),
        }
    if 0 < l < theta.L:
        found[f"d[{l}] d[{l - 1}]"] = d[l].T @ d[l - 1]
    return found
