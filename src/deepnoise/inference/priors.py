"""Named priors, for any widths."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from ..model.gamma import Gamma
from ..model.inverse_gamma import InverseGamma
from ..model.network import Prior, Scales, Theta

NAMES = ("default", "wide", "fixed", "paper", "anchored")
# Priors whose scales are learnt.
LEARNT = ("default", "wide")
Pair = tuple[float, float]


@dataclass(frozen=True)
class PriorSpec:
    """(a, b) of the inverse-gamma laws, the same in every layer."""

    weight: Pair
    bias: Pair
    preact: Pair
    postact: Pair

    @classmethod
    def of(cls, spec: Mapping[str, Pair]) -> "PriorSpec":
        """A user's dict, checked."""
        parts = list(cls.__dataclass_fields__)
        if set(spec) != set(parts):
            raise ValueError(f"prior: the keys must be {', '.join(parts)}; got {sorted(spec)}")
        for name, pair in spec.items():
            if np.shape(pair) != (2,) or not (np.isfinite(pair).all() and min(pair) > 0):
                raise ValueError(f"prior[{name!r}] must be two positive numbers; got {pair!r}")
        return cls(**{name: (float(a), float(b)) for name, (a, b) in spec.items()})


PAPER = PriorSpec(*[(0.001, 0.001)] * 4)

# Weights are Student-t with 2 WEIGHT_A degrees of freedom and variance about 1 / fan-in.
WEIGHT_A = 5.0
# Noise variances: most of the mass near (0.01)², a tail that leaves room for units that need noise.
NOISE = (2.0, 0.0002)
# With learnt scales: (a, b) of hidden noise variances in units of their scale, and of the last.
HIDDEN_NOISE = (2.0, 2.0)
LAST_NOISE = (1.0, 0.001)
# √ of the scale of hidden noise is half-normal with this sd.
NOISE_SIZE = 0.3
# The scale of a layer's weights, times fan-in, is Gamma(a, rate): its root is 0.5, give or take a
# quarter.  Units then stay where their activation bends, and chains agree sooner; data that want
# sharper units still get them.
WEIGHT_SCALE = (5.0, 20.0)
# In "wide", and of sites, √ of the scale of weights is half-normal with this sd.
WEIGHT_SIZE = 1.0
# Of utilities that are seen only through a class: τ_L is 0.2 within a tenth or so.  It is their
# unit: beside weights of about 1/√fan-in, probabilities may come close to 0 and 1.
UTILITY_NOISE = 0.2
UTILITY_A = 50.0


def build_prior(
    spec: str | PriorSpec,
    widths: tuple[int, ...],
    dtype,
    rows: int = 0,
    start: Theta | None = None,
    sites: tuple[int, int] | None = None,
) -> Prior:
    """The prior named or given by ``spec`` for widths (P, K_0, ..., K_{L-1}, Q).

    Inputs from ``sites[0]`` up to ``sites[1]`` are sites; only learnt scales have a law for them.

    "anchored" is the authors' code: σ², τ² ~ IG(N/2, N/2 · their start), with the paper's weights.
    """
    if isinstance(spec, PriorSpec):
        return same_everywhere(spec, widths, dtype)
    if spec in LEARNT:
        prior = learnt_prior(widths, dtype, wide=spec == "wide")
        return prior if sites is None else with_sites(prior, widths[0], sites)
    if spec == "fixed":
        return fixed_prior(widths, dtype)
    paper = same_everywhere(PAPER, widths, dtype)
    if spec == "paper":
        return paper
    if spec == "anchored" and start is not None:
        anchor = lambda s2: InverseGamma(jnp.full_like(s2, rows / 2), s2 * (rows / 2))  # noqa: E731
        preact, postact = (tuple(map(anchor, part)) for part in (start.tau2, start.sigma2))
        return Prior(paper.weight, paper.bias, preact, postact)
    raise ValueError(f"prior must be one of {', '.join(NAMES)} or a dict; got {spec!r}")


def learnt_prior(widths: tuple[int, ...], dtype, wide: bool = False) -> Prior:
    """ρ² ~ IG(5, 5 s_l/fan-in), ξ² ~ IG(5, 5), hidden noise variances ~ IG(2, 2 s).

    √s is half-normal, s_l ~ Gamma(5, 20), or half-normal in its root if ``wide``;
    τ²_L ~ IG(1, 0.001).
    """
    fixed, layers = fixed_prior(widths, dtype), len(widths) - 1
    law = lambda a, b: InverseGamma(jnp.asarray(a, dtype), jnp.asarray(b, dtype))  # noqa: E731
    return replace(
        fixed,
        preact=(*(law(*HIDDEN_NOISE),) * (layers - 1), law(*LAST_NOISE)),
        postact=(law(*HIDDEN_NOISE),) * (layers - 1),
        noise_scale=_half_normal(NOISE_SIZE, dtype),
        weight_scale=(_half_normal(WEIGHT_SIZE, dtype) if wide else _weight_scale(dtype),) * layers,
    )


def _weight_scale(dtype) -> Gamma:
    a, rate = WEIGHT_SCALE
    return Gamma(jnp.asarray(a, dtype), jnp.asarray(rate, dtype))


def with_sites(prior: Prior, inputs: int, sites: tuple[int, int]) -> Prior:
    """The prior with a learnt scale s of its own for weights of sites: ρ² ~ IG(5, 5 s).

    One site is on at a time: their fan-in is 1, and that of layer 0 the number of other inputs.
    """
    inside = np.zeros(inputs, bool)
    inside[slice(*sites)] = True
    first, scale = prior.weight[0], prior.weight_scale or ()
    fan_in = np.where(inside, 1, max(inputs - inside.sum(), 1))
    law = InverseGamma(first.a, jnp.asarray(WEIGHT_A / fan_in, first.b.dtype))
    return replace(
        prior,
        weight=(law, *prior.weight[1:]),
        weight_scale=(*scale, _half_normal(WEIGHT_SIZE, law.b.dtype)),
        sites=tuple(map(bool, inside)),
    )


def _half_normal(size: float, dtype) -> Gamma:
    """The law of s where √s is half-normal."""
    return Gamma(jnp.asarray(0.5, dtype), jnp.asarray(0.5 / size**2, dtype))


def fixed_prior(widths: tuple[int, ...], dtype) -> Prior:
    """ρ² ~ IG(5, 5/fan-in), ξ² ~ IG(5, 5), and noise variances that prefer to be small."""
    layers = range(len(widths) - 1)
    law = lambda a, b: InverseGamma(jnp.asarray(a, dtype), jnp.asarray(b, dtype))  # noqa: E731
    return Prior(
        weight=tuple(law(WEIGHT_A, WEIGHT_A / widths[l]) for l in layers),
        bias=tuple(law(WEIGHT_A, WEIGHT_A) for _ in layers),
        preact=tuple(law(*NOISE) for _ in layers),
        postact=tuple(law(*NOISE) for _ in layers[:-1]),
    )


def with_utility_noise(prior: Prior) -> Prior:
    """The prior with τ_L near UTILITY_NOISE."""
    last = prior.preact[-1]
    b = UTILITY_A * UTILITY_NOISE**2
    unit = InverseGamma(jnp.full_like(last.a, UTILITY_A), jnp.full_like(last.b, b))
    return replace(prior, preact=(*prior.preact[:-1], unit))


def same_everywhere(spec: PriorSpec, widths: tuple[int, ...], dtype) -> Prior:
    """The same four laws in every layer, as the paper prints them."""
    layers = len(widths) - 1
    law = lambda pair: InverseGamma(*(jnp.asarray(p, dtype) for p in pair))  # noqa: E731
    return Prior(
        (law(spec.weight),) * layers,
        (law(spec.bias),) * layers,
        (law(spec.preact),) * layers,
        (law(spec.postact),) * (layers - 1),
    )


def first_scales(spec: str | PriorSpec, sites: tuple[int, int] | None, theta: Theta) -> Scales:
    """Scales beside a Theta that gradients found; the first sweep draws them."""
    ones = Scales(*(jax.tree.map(jnp.ones_like, part) for part in (theta.beta, theta.gamma)))
    if spec not in LEARNT:
        return ones
    hidden = [jnp.log(s2) for s2 in (*theta.tau2[:-1], *theta.sigma2)]
    noise = jnp.exp(jnp.mean(jnp.concatenate(hidden))) if hidden else ones.xi2[0][0]
    weight = tuple(jnp.mean(beta**2) * beta.shape[1] for beta in theta.beta)
    if sites is not None:
        weight = (*weight, jnp.mean(theta.beta[0][:, slice(*sites)] ** 2))
    return replace(ones, noise=noise, weight=weight)
