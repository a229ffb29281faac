"""No reduced precision: the algebra against float64, and every float32 product asks for full bits.

The first runs on whatever device JAX has; ``benchmarks/gpu.py`` runs it on a GPU too.
"""

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest

from deepnoise.inference.kernels import GibbsKernel, InterweavedKernel
from deepnoise.inference.posterior import Plan, begin, chain_priors
from deepnoise.inference.runtime import numerics
from deepnoise.inference.unseen import Data
from deepnoise.model.activation import hard_tanh

from ..accuracy import checks


def test_algebra_is_accurate_on_this_device():
    wrong = [check for check in checks(rows=300, width=12) if not check.error < check.limit]
    assert not wrong


def products(jaxpr):
    """Every dot_general of a program, also inside its loops and calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from products(inner)


@pytest.mark.parametrize("kernel", [GibbsKernel(hard_tanh), InterweavedKernel(hard_tanh, 10)])
def test_no_product_of_a_step_may_round_its_factors(kernel):
    x, y = np.ones((7, 2), np.float32), np.ones((7, 1), np.float32)
    sampler = "gibbs" if isinstance(kernel, GibbsKernel) else "interweaved"
    plan = Plan((3, 3), hard_tanh, seed=0, chains=1, init="prior", sampler=sampler)

    def step(key, x, y):
        start, state = begin(plan, 0, x, y)
        data = Data(x, y, chain_priors(plan, start.theta, x, y))
        one = jax.tree.map(lambda a: a[0], (state, data.prior))
        return kernel.step(key, jnp.asarray(0), one[0], Data(x, y, one[1]))

    with numerics():
        found = list(products(jax.make_jaxpr(step)(jax.random.key(0), x, y).jaxpr))
    single = [p for p in found if p.invars[0].aval.dtype == np.float32]
    double = [p for p in found if p.invars[0].aval.dtype == np.float64]
    assert single
    assert double
    highest = jax.lax.Precision.HIGHEST
    assert all(p.params["precision"] == (highest, highest) for p in single)
