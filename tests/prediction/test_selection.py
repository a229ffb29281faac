"""The bootstrap against its known moments, losses against their definitions."""

import numpy as np
import pytest

from deepnoise.prediction.selection import (
    BOOTSTRAPS,
    _empirical_crps,
    bootstrap_skills,
    crps,
    select,
    squared,
)
from tests.statistics import rejected, two_sided

from .mixtures import random_mixture


def test_posterior_of_a_mean_has_the_moments_of_the_bayesian_bootstrap():
    """With a null loss of one the skill is 1 - Σ D_n loss_n, D uniform on the simplex."""
    rng = np.random.default_rng(0)
    loss = rng.gamma(2, size=(40, 2))
    skills = bootstrap_skills(loss, np.ones((40, 2)), seed=1)
    sd = loss.std(axis=0) / np.sqrt(41)
    z = (skills.mean(axis=0) - 1 + loss.mean(axis=0)) / (sd / np.sqrt(BOOTSTRAPS))
    assert not rejected({str(q): two_sided(value) for q, value in enumerate(z)})
    assert np.allclose(skills.std(axis=0), sd, rtol=0.05)


def test_blocks_of_draws_are_draws(monkeypatch):
    monkeypatch.setattr("deepnoise.prediction.selection.BLOCK_VALUES", 7 * 40)
    loss = np.random.default_rng(0).gamma(2, size=(40, 1))
    skills = bootstrap_skills(loss, np.ones((40, 1)), seed=1)
    assert skills.shape == (BOOTSTRAPS, 1)
    assert len(np.unique(skills)) == BOOTSTRAPS


def test_empirical_crps_is_its_definition():
    rng = np.random.default_rng(1)
    y, seen = rng.normal(size=9), np.r_[rng.normal(size=6), 0.5, 0.5]
    pairs = np.abs(seen[:, None] - seen).mean() / 2
    assert np.allclose(_empirical_crps(y, seen), np.abs(y[:, None] - seen).mean(1) - pairs)


@pytest.mark.parametrize("outcomes", [1, 2])
def test_losses_of_any_number_of_outcomes(outcomes):
    density = random_mixture(2, outcomes=outcomes)
    y, seen = np.zeros((4, outcomes)), np.arange(6.0 * outcomes).reshape(6, outcomes)
    loss, null = squared(density, y, seen)
    assert np.allclose(loss, density.mean().reshape(4, -1) ** 2)
    assert np.allclose(null, seen.mean(axis=0) ** 2)
    loss, null = crps(density, y, seen)
    assert np.allclose(loss, density.crps(np.squeeze(y)).reshape(4, -1))
    assert null.shape == (4, outcomes)


def test_the_rule_and_its_table():
    loss = np.stack([np.full(50, 0.4), np.full(50, 1.1)], axis=1)
    found = select((loss, np.ones((50, 2))), ("bmi", "luck"), "squared", 0.5, 0.9, seed=0)
    assert found.skill.mean == pytest.approx([0.6, -0.1])
    assert found.probability.tolist() == [1.0, 0.0]
    assert found.predictable == ("bmi",)
    head, first, second = str(found).splitlines()
    assert "P(skill > 0.5)" in head
    assert first.split() == ["bmi", "0.60", "0.60", "to", "0.60", "1.000", "predictable"]
    assert second.endswith("0.000")
    assert select((loss, np.ones((50, 2))), "ab", "squared", 0.7, 0.9, 0).predictable == ()


@pytest.mark.parametrize("loss", [squared, crps])
def test_missing_outcomes_say_nothing(loss):
    density, rng = random_mixture(3, rows=6, outcomes=2), np.random.default_rng(3)
    y, seen = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    y[2, 0] = seen[4, 1] = np.nan
    found = loss(density, y, seen)
    assert all(np.isnan(part).sum() == 1 and np.isnan(part[2, 0]) for part in found)
    rows = [0, 1, 3, 4, 5]
    others = loss(density[rows].marginal(0), y[rows, :1], seen[:, :1])
    for part, other in zip(found, others, strict=True):
        assert np.allclose(part[rows, :1], other)
    skills = bootstrap_skills(*found, seed=0)
    assert np.isfinite(skills).all()
    alone = bootstrap_skills(*(part[rows, :1] for part in found), seed=1)
    assert skills[:, 0].mean() == pytest.approx(alone.mean(), rel=0.1)
