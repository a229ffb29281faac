"""The parts of the variance against networks whose parts are known."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from deepnoise.model.activation import hard_tanh, identity
from deepnoise.model.bounds import variance_bound
from deepnoise.prediction import per_draw
from deepnoise.prediction.per_draw import moments
from deepnoise.prediction.uncertainty import decompose, sources

from .networks import densities


def linear_parts(theta, m, scale):
    """Contributions of e_0, d_0, e_1, d_1, ..., outcome in a network without activations."""
    L, parts = theta.L, []
    gain = np.eye(theta.gamma[-1].shape[1])
    parts.append(theta.tau2[-1][m])
    for l in reversed(range(L)):
        gain = gain @ theta.beta[l + 1][m]
        parts += [gain**2 @ theta.sigma2[l][m], gain**2 @ theta.tau2[l][m]]
    return np.array(parts[::-1]) * scale**2


@pytest.mark.parametrize("widths", [(2, 1), (2, 3, 1), (2, 3, 2, 2)])
def test_without_activations_the_parts_are_known(key, widths):
    given = densities(key, widths, draws=3, paths=20_000, h=identity, weights=[0.5, 0.3, 0.2])
    found = decompose(given)
    expected = np.einsum(
        "m,mkq->kq",
        given.weights,
        [linear_parts(given.draws, m, given.scale) for m in range(3)],
    )
    assert found.sources == sources(len(widths) - 2)
    aleatoric = found.aleatoric.reshape(4, -1)
    assert np.allclose(aleatoric, expected.sum(axis=0), rtol=0.05)
    parts = found.shares.reshape(4, len(found.sources), -1) * aleatoric[:, None]
    assert np.allclose(parts, expected, atol=0.05 * expected.sum(axis=0).max())


def test_epistemic_is_the_variance_of_the_means(key):
    given = densities(key, draws=20, paths=4000)
    mean, sd = moments(given)
    found = decompose(given)
    assert np.allclose(found.epistemic, mean[..., 0].var(axis=1), rtol=0.1)
    assert np.allclose(found.aleatoric, (sd[..., 0] ** 2).mean(axis=1), rtol=0.1)


def test_few_paths_do_not_look_like_ignorance(key):
    given = densities(key, draws=1, noise=1.0)
    same = {name: getattr(given, name) for name in vars(given)}
    many = 400
    same["draws"] = type(given.draws)(
        *(tuple(np.repeat(a, many, axis=0) for a in part) for part in vars(given.draws).values())
    )
    found = decompose(type(given)(**{**same, "weights": np.full(many, 1 / many), "paths": 2}))
    assert (found.epistemic < 0.1 * found.aleatoric).all()


def test_shares_are_shares(key):
    found = decompose(densities(key, (2, 4, 4, 4, 2), h=hard_tanh, paths=5))
    assert found.shares.shape == (4, 7, 2)
    assert (found.shares >= 0).all()
    assert np.allclose(found.shares.sum(axis=1), 1)


def test_blocks_of_rows_change_nothing(key, monkeypatch):
    given = densities(key, rows=7)
    whole = decompose(given)
    monkeypatch.setattr(per_draw, "BLOCK_VALUES", 600)
    again = decompose(given)
    assert np.allclose(again.shares, whole.shares)
    assert np.allclose(again.epistemic, whole.epistemic)


@pytest.mark.parametrize("widths", [(2, 1), (2, 3, 1), (2, 4, 3, 2)])
def test_the_bound_holds_for_every_row(key, widths):
    given = densities(key, widths, rows=50, paths=400, weights=[0.1, 0.2, 0.3, 0.2, 0.2])
    given = replace(given, x=10 * given.x)
    found = decompose(given)
    assert found.bounds.shape == (len(widths) - 1, *widths[-1:][: widths[-1] > 1])
    assert (found.aleatoric <= found.bounds.sum(axis=0) * (1 + 1e-9)).all()
    if widths[-1] == 1:
        with jax.enable_x64(True):
            each = [
                variance_bound(jax.tree.map(lambda a: a[m], given.draws), given.h) for m in range(5)
            ]
        assert found.bounds.sum() == pytest.approx(given.weights @ np.array(each) * 4.0)


def test_the_bound_is_met_without_a_hidden_layer(key):
    found = decompose(densities(key, (2, 2)))
    assert np.allclose(found.aleatoric, found.bounds[0])
