"""What is particular to each baseline, against numbers worked out otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from deepnoise.baselines import mlp
from deepnoise.baselines.backprop import GaussianNetwork
from deepnoise.baselines.hmc import NOISE_PRIOR, NoisyNetwork
from deepnoise.baselines.quantiles import LEVELS, LOWER, conformal_offsets
from deepnoise.baselines.variational import LOG_SD, VariationalNetwork
from deepnoise.model.activation import hard_tanh

from .methods import line, tiny


@pytest.fixture(scope="module")
def small():
    """Few rows, much noise: whoever trains on overfits."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(64, 3)), rng.normal(size=(64, 1))


def held_loss(network, weights, x, y, split):
    one = {name: a[0] for name, a in weights.items()}
    held = split.held[0]
    return float(np.mean(network.held(one, None, x[held], y[held])))


def test_training_keeps_the_best_weights_not_the_last(small):
    network = GaussianNetwork((8,), hard_tanh)
    split = mlp.random_split(0, 64, 1, 0.25)
    training = mlp.Training(steps=4000, patience=1000)
    nothing_held = mlp.Split(split.train, split.held[:, :0])
    kept = mlp.fit(network, training, 0, *small, split)
    last = mlp.fit(network, training, 0, *small, nothing_held)
    assert held_loss(network, kept, *small, split) < held_loss(network, last, *small, split) - 0.5


def test_held_out_rows_are_not_trained_on():
    split = mlp.random_split(3, 50, 4, 0.2)
    assert split.train.shape == (4, 40)
    for train, held in zip(split.train, split.held, strict=True):
        assert sorted([*train, *held]) == list(range(50))
    assert len({tuple(sorted(held)) for held in split.held}) == 4


@pytest.mark.slow
def test_adversarial_training_asks_for_more(small):
    weights = GaussianNetwork((8,), hard_tanh).init(np.random.default_rng(1), 3, 1)
    plain, adversarial = (
        float(np.mean(GaussianNetwork((8,), hard_tanh, size).loss(weights, None, *small, 64)))
        for size in (0.0, 0.05)
    )
    assert adversarial > plain + 1e-4


def test_offsets_are_order_statistics():
    n, rng = 199, np.random.default_rng(0)
    y = rng.normal(size=(n, 1))
    offset = conformal_offsets(np.zeros((n, len(LEVELS), 1)), y)
    for j, level in enumerate(LOWER):
        rank = int(np.ceil((n + 1) * (1 - 2 * level) - 1e-9))
        assert offset[-1 - j, 0] == np.sort(np.abs(y[:, 0]))[min(rank, n) - 1]
        assert offset[j, 0] == -offset[-1 - j, 0]


def test_conformal_coverage_holds_on_average():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(300):
        y = rng.standard_t(3, size=(60, 1))
        offset = conformal_offsets(np.zeros((40, len(LEVELS), 1)), y[:40])
        j = LOWER.index(0.1)
        covered.append(np.mean(np.abs(y[40:]) <= offset[-1 - j]))
    # Between 0.8 and 0.8 + 1/41 by theory.
    assert 0.78 < np.mean(covered) < 0.845


def test_the_divergence_of_vi_by_quadrature():
    network = VariationalNetwork((), hard_tanh, 1)
    weights = {"w0": jnp.array([[0.3, -0.2]]), "b0": jnp.array([0.1])}
    weights |= {LOG_SD + "w0": jnp.array([[-1.0, -0.5]]), LOG_SD + "b0": jnp.array([-2.0])}
    weights["log_noise"] = jnp.array([0.0])
    terms = [(0.3, -1.0, 0.5), (-0.2, -0.5, 0.5), (0.1, -2.0, 1.0)]
    expected = 0.0
    for mean, log_sd, prior2 in terms:
        q, p = stats.norm(mean, np.exp(log_sd)), stats.norm(0, np.sqrt(prior2))
        inside = (mean - 12 * np.exp(log_sd), mean + 12 * np.exp(log_sd))
        expected += integrate.quad(lambda t: q.pdf(t) * (q.logpdf(t) - p.logpdf(t)), *inside)[0]
    assert float(network.divergence(weights)) == pytest.approx(expected, rel=1e-5)


def test_the_posterior_of_hmc_by_hand(small):
    x, y = small
    network = NoisyNetwork((4,), hard_tanh)
    rng = np.random.default_rng(2)
    one, other = (network.init(rng, 3, 1) | {"log_noise": np.array([s])} for s in (-1.0, -0.5))

    def by_hand(w):
        hidden = np.clip(x @ w["w0"].T + w["b0"], -1, 1)
        total = stats.norm.logpdf(y, hidden @ w["w1"].T + w["b1"], np.exp(w["log_noise"])).sum()
        total += stats.norm.logpdf(w["w0"], 0, 3**-0.5).sum() + stats.norm.logpdf(w["b0"]).sum()
        total += stats.norm.logpdf(w["w1"], 0, 4**-0.5).sum() + stats.norm.logpdf(w["b1"]).sum()
        return total + stats.norm.logpdf(w["log_noise"], *NOISE_PRIOR).sum()

    with jax.enable_x64(True):
        found = float(network.log_posterior(one, x, y) - network.log_posterior(other, x, y))
    assert found == pytest.approx(by_hand(one) - by_hand(other), rel=1e-9)


def test_a_mixture_network_sees_two_modes():
    rng = np.random.default_rng(0)
    x, _ = line()
    y = rng.choice([-1.0, 1.0], 256) + 0.1 * rng.normal(size=256)
    density = tiny("mdn").fit(x, y).predict_density(x[:256])
    height = density.pdf_grid([-1.0, 0.0, 1.0]).mean(axis=0)
    assert height[1] < 0.3 * min(height[0], height[2])


def test_dropout_chooses_what_it_was_offered():
    x, y = line()
    model = tiny("dmc").fit(x, y)
    assert np.isclose(model.rate_, model.rates).any()
    sd = model.units_.y.scale[0] / np.sqrt(model.precision_)
    assert 0.25 < sd < 0.75, "the noise has sd 0.5"


def test_chains_of_hmc_are_diagnosed():
    model = tiny("bnn").fit(*line())
    assert 0.4 < model.acceptance_rate_ <= 1
    assert model.diagnostics_.chains == 2
    assert model.diagnostics_.draws == 20
    assert np.isfinite(model.diagnostics_.max_rhat)


def test_networks_begin_with_weights_as_torch_gives_them_and_vi_as_its_prior():
    rng = np.random.default_rng(0)
    weights = mlp.random_weights(rng, (12, 400, 400, 1))
    means = VariationalNetwork((400, 400), hard_tanh, 1).init(rng, 12, 1)
    for name, fan_in in (("w0", 12), ("w1", 400)):
        assert np.var(weights[name]) == pytest.approx(1 / (3 * fan_in), rel=0.1)
        assert np.var(means[name]) == pytest.approx(1 / fan_in, rel=0.1)


@pytest.mark.parametrize(
    ("rows", "steps", "expected"),
    [
        (100, None, (6000, 50)),
        (4500, None, (13_000, 108)),
        (10**6, None, (20_000, 166)),
        (100, 300, (300, 50)),
        (10**6, 60_000, (60_000, 500)),
    ],
)
def test_training_is_longer_with_more_rows_and_waits_a_quarter_of_it(rows, steps, expected):
    training = mlp.Training.usual(rows, steps)
    assert (training.steps, training.check_every) == expected
