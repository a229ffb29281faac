"""Supports: y = g(z), exact against scipy's laws, and their properties."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import expit, logit

from deepnoise.model.outcome import Window
from deepnoise.prediction import metrics
from deepnoise.prediction.density.mixture import PredictiveMixture
from deepnoise.prediction.density.support import REAL, Support
from deepnoise.prediction.density.supported import SupportedDensity, grid_between, moved

from .mixtures import quick

MEAN, SD = 0.4, 0.7
LEVELS = np.array([0.01, 0.2, 0.5, 0.9, 0.99])
POSITIVE, UNIT = Support("positive", 0.0), Support("between", -1.0, 3.0)
COUNTS, HURDLE = Support("counts", 0.0), Support("positive", 0.0, points=(0.0,), size=0.5)
SUPPORTS = {
    "positive": POSITIVE,
    "between": UNIT,
    "counts": COUNTS,
    "hurdle": HURDLE,
    "both ends": Support("between", -1.0, 3.0, (-1.0, 3.0)),
    "low end": Support("between", -1.0, 3.0, (-1.0,)),
    "high end": Support("between", -0.1, 0.2, (0.2,)),
    "inner": Support("real", points=(-0.3, 0.7), size=0.4),
    "positive inner": Support("positive", 0.0, points=(1.7,), size=0.3),
    "ends and inner": Support("between", 0.0, 1.0, (0.0, 0.3, 1.0), size=0.2),
}
every_support = pytest.mark.parametrize("support", SUPPORTS.values(), ids=SUPPORTS)


def of_normal(support: Support, mean=MEAN, sd=SD) -> SupportedDensity:
    return SupportedDensity(PredictiveMixture.of([[[mean]]], [[[[sd**2]]]]), support)


def of_two(support: Support) -> SupportedDensity:
    latent = PredictiveMixture.of(
        [[[-0.8], [0.9]], [[0.1], [2.0]]], np.array([0.09, 0.5])[None, :, None, None]
    )
    return SupportedDensity(latent, support)


def crps_by_definition(density: SupportedDensity, y: float, low: float, high: float) -> float:
    cut = sorted({low, y, high, *density.support.points})
    off = lambda t: (density.cdf(t)[0] - (t >= y)) ** 2
    return sum(integrate.quad(off, a, b, limit=200)[0] for a, b in itertools.pairwise(cut))


def test_positive_is_lognormal():
    density, law = of_normal(POSITIVE), stats.lognorm(SD, scale=np.exp(MEAN))
    for y in (0.3, 1.0, 6.0):
        np.testing.assert_allclose(density.log_prob(y), law.logpdf(y), rtol=1e-12)
        np.testing.assert_allclose(density.cdf(y), law.cdf(y), rtol=1e-12)
        np.testing.assert_allclose(density.probability_above(y), law.sf(y), rtol=1e-12)
        np.testing.assert_allclose(
            density.crps(y), crps_by_definition(density, y, 0.0, 400.0), rtol=1e-4
        )
    # An impossible outcome costs its distance too.
    beyond = crps_by_definition(density, -2.0, -2.0, 400.0)
    np.testing.assert_allclose(density.crps(-2.0), beyond, rtol=1e-4)
    np.testing.assert_allclose(density.quantile(LEVELS)[0], law.ppf(LEVELS), rtol=1e-9)
    np.testing.assert_allclose(density.interval(0.8)[0], law.interval(0.8), rtol=1e-9)
    np.testing.assert_allclose(density.mean(), law.mean(), rtol=1e-9)
    np.testing.assert_allclose(density.var(), law.var(), rtol=1e-6)
    np.testing.assert_allclose(density.expect(np.sqrt), np.exp(MEAN / 2 + SD**2 / 8), rtol=1e-9)
    upper = np.exp(MEAN + SD**2 / 2) * stats.norm.sf(stats.norm.ppf(0.9) - SD) / 0.1
    lower = np.exp(MEAN + SD**2 / 2) * stats.norm.cdf(stats.norm.ppf(0.2) - SD) / 0.2
    np.testing.assert_allclose(density.tail_mean(0.9), upper, rtol=1e-4)
    np.testing.assert_allclose(density.tail_mean(0.2, "lower"), lower, rtol=1e-4)


def test_highest_density_region_of_lognormal():
    (region,) = of_normal(POSITIVE).hdi(0.8)
    law = stats.lognorm(SD, scale=np.exp(MEAN))
    low, high = region[0]
    assert len(region) == 1
    np.testing.assert_allclose(law.cdf(high) - law.cdf(low), 0.8, atol=0.002)
    np.testing.assert_allclose(law.pdf(low), law.pdf(high), rtol=0.03)


def test_bounded_is_logit_normal():
    density, y = of_normal(UNIT), np.array([-0.9, 0.5, 2.9])
    share = (y + 1) / 4
    log_prob = stats.norm(MEAN, SD).logpdf(logit(share)) - np.log(4 * share * (1 - share))
    np.testing.assert_allclose(density.log_prob_grid(y)[0], log_prob, rtol=1e-10)
    np.testing.assert_allclose(density.cdf_grid(y)[0], stats.norm(MEAN, SD).cdf(logit(share)))
    np.testing.assert_allclose(
        density.quantile(LEVELS)[0], -1 + 4 * expit(stats.norm(MEAN, SD).ppf(LEVELS)), rtol=1e-9
    )
    mean, second = (
        integrate.quad(lambda t, k=k: t**k * density.pdf(t)[0], -1, 3)[0] for k in (1, 2)
    )
    np.testing.assert_allclose(density.mean(), mean, rtol=1e-7)
    np.testing.assert_allclose(density.var(), second - mean**2, rtol=1e-6)
    np.testing.assert_allclose(
        density.crps(0.5), crps_by_definition(density, 0.5, -1.0, 3.0), rtol=1e-4
    )
    np.testing.assert_allclose(density.tail_mean(0.9), -density_mirror().tail_mean(0.1, "lower"))


def density_mirror() -> SupportedDensity:
    return of_normal(Support("between", -3.0, 1.0), mean=-MEAN)


def test_hurdle_is_a_mass_and_a_shifted_lognormal():
    density, law = of_normal(HURDLE), stats.norm(MEAN, SD)
    zero = law.cdf(0)
    np.testing.assert_allclose(density.probability_at(0.0), zero)
    np.testing.assert_allclose(density.log_prob(0.0), np.log(zero))
    np.testing.assert_allclose(density.cdf(0.0), zero)
    np.testing.assert_allclose(density.probability_above([0.0]), 1.0)
    assert density.quantile(zero / 2)[0] == 0
    assert density.probability_at(1.0)[0] == 0
    for y in (0.2, 3.0):
        z = np.log1p(y / 0.5)
        np.testing.assert_allclose(density.log_prob(y), law.logpdf(z) - np.log(y + 0.5))
        np.testing.assert_allclose(density.cdf(y), law.cdf(z))
    above = stats.norm.sf(-MEAN / SD)
    mean = 0.5 * (np.exp(MEAN + SD**2 / 2) * stats.norm.sf(-MEAN / SD - SD) - above)
    np.testing.assert_allclose(density.mean(), mean, rtol=2e-3)
    for y in (0.0, 0.2, 3.0):
        np.testing.assert_allclose(
            density.crps(y), crps_by_definition(density, y, 0.0, 100.0), rtol=1e-4
        )
    # Below the level 0.1 lies nothing but zeros; above it, a part of them.
    np.testing.assert_allclose(density.tail_mean(0.1, "lower"), 0.0, atol=1e-12)
    np.testing.assert_allclose(density.tail_mean(0.1), mean / 0.9, rtol=1e-4)
    (region,) = density.hdi(0.5)
    assert len(region) == 1
    assert region[0, 0] == 0
    np.testing.assert_allclose(density.probability_between(*region[0]), 0.5, atol=0.002)


@pytest.mark.parametrize("mean", [MEAN, 5.0, 7.0])
def test_counts_are_a_rounded_lognormal(mean):
    density, law = of_normal(COUNTS, mean), stats.norm(mean, SD)
    counts = np.arange(60_000)
    with np.errstate(divide="ignore"):
        edges = np.log(np.append(counts, counts[-1] + 1))
    mass, below = np.diff(law.cdf(edges)), law.cdf(edges[1:])
    some = np.array([0, 1, 2, 7, 150])
    np.testing.assert_allclose(density.pdf_grid(some)[0], mass[some], atol=1e-15)
    np.testing.assert_allclose(density.cdf_grid(some)[0], below[some], atol=1e-15)
    np.testing.assert_array_equal(density.quantile(LEVELS)[0], np.searchsorted(below, LEVELS))
    first = mass @ counts
    # Above 256, counts are integrated.
    close = 1e-6 if mean < 1 else 1e-3
    np.testing.assert_allclose(density.mean(), first, rtol=close)
    np.testing.assert_allclose(density.var(), mass @ counts**2.0 - first**2, rtol=10 * close)
    for y in (0, 3, 400):
        crps = np.sum((below - (counts >= y)) ** 2)
        np.testing.assert_allclose(density.crps(y), crps, rtol=1e-3)
    worst = np.searchsorted(below, 0.95)
    tail = worst + np.sum(1 - below[worst:]) / 0.05
    np.testing.assert_allclose(density.tail_mean(0.95), tail, rtol=2e-3)
    region = density.hdi(0.8)[0]
    held = sum(mass[int(low) : int(high) + 1].sum() for low, high in region)
    assert 0.8 - 0.002 <= held <= 0.8 + max(mass.max(), 0.01)


@every_support
def test_all_mass_is_inside(support):
    density = of_two(support)
    if support.discrete:
        np.testing.assert_allclose(density.pdf_grid(np.arange(400)).sum(axis=1), 1, atol=1e-6)
        return
    at = sum((density.probability_at(point) for point in support.points), np.zeros(2))
    for row, one in enumerate((density[0], density[1])):
        low, high = (float(one.quantile(p)[0]) for p in (1e-10, 1 - 1e-10))
        cuts = np.unique([low, *one.quantile(np.linspace(0.05, 0.95, 7))[0], high, *support.points])
        mass = at[row] + sum(
            integrate.quad(lambda t, one=one: one.pdf_grid([t])[0, 0], a + 1e-12, b - 1e-12)[0]
            for a, b in itertools.pairwise(cuts)
        )
        np.testing.assert_allclose(mass, 1, atol=1e-5)


@every_support
def test_nothing_leaks(support):
    density = of_two(support)
    low, high = support.low, support.high
    outside = [end for end in (low - 1, low - 1e-9, high + 1e-9, high + 1) if np.isfinite(end)]
    for y in outside:
        assert (density.pdf(y) == 0).all()
        assert (density.log_prob(y) == -np.inf).all()
        assert (density.cdf(y) == (y > high)).all()
        assert (density.probability_above(y) == (y < low)).all()
    drawn = density.sample(2000, 0)
    assert ((drawn >= low) & (drawn <= high)).all()
    ends = density.quantile([0.0, 1.0])
    assert (ends[:, 0] >= low).all()
    assert (ends[:, 1] <= high).all()
    for region in density.hdi(0.9):
        assert region.min() >= low
        assert region.max() <= high
    assert np.isfinite(density.mean()).all()
    assert np.isfinite(density.crps(max(low, 0.0))).all()


@every_support
def test_draws_follow_the_law(support):
    density = of_two(support)[1]
    drawn = density.sample(20_000, 1)[0]
    for y in np.unique(np.append(density.quantile([0.1, 0.4, 0.8])[0], support.points)):
        share, expected = np.mean(drawn <= y), density.cdf(y)[0]
        # Five standard errors: a false alarm in 1.7 million.
        assert abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 20_000) + 1e-12
    spread = np.sqrt(density.var()[0])
    assert abs(drawn.mean() - density.mean()[0]) < 5 * spread / np.sqrt(20_000) + 0.005 * spread


@every_support
@quick
@given(levels=st.lists(st.floats(0.001, 0.999), min_size=1, max_size=5))
def test_quantile_and_cdf_agree(support, levels):
    density = of_two(support)
    for level in levels:
        found = density.quantile(level)
        assert (density.cdf(found) >= level - 1e-9).all()
        assert (density.probability_above(found) >= 1 - level - 1e-9).all()


@every_support
@quick
@given(values=st.lists(st.floats(-3, 5), min_size=2, max_size=8))
def test_values_and_z_are_in_one_order(support, values):
    z = np.sort(values)
    y = support.value(z)
    assert (np.diff(y) >= 0).all()
    assert ((y >= support.low) & (y <= support.high)).all()
    np.testing.assert_allclose(support.value(support.least(y)), y, rtol=1e-9, atol=1e-12)
    assert (support.least(y) <= z + 1e-9).all()
    assert (z <= support.most(y) + 1e-9).all()
    cdf = of_two(support).cdf_grid(y)
    assert (np.diff(cdf, axis=1) >= -1e-15).all()


def test_point_masses_are_met_exactly():
    support = Support("positive", 0.0, points=(3.7,), size=0.3)
    density = of_normal(support, mean=float(support.least(3.7)) + 0.15, sd=0.05)
    assert (density.quantile([0.3, 0.5, 0.7]) == 3.7).all()
    assert (density.sample(100, 0) == 3.7).mean() > 0.9
    assert density.hdi(0.5)[0].tolist() == [[3.7, 3.7]]


@every_support
def test_rows_and_blocks_do_not_matter(support):
    density = of_two(support)
    y = support.value(np.array([0.5, 1.0]))
    for name in ("log_prob", "cdf", "crps", "probability_above"):
        both = getattr(density, name)(y)
        one = [getattr(density[n], name)(y[n])[0] for n in (0, 1)]
        np.testing.assert_allclose(both, one, rtol=1e-9, err_msg=name)
    assert len(density.stored()) == 2
    assert density.marginal(0) is density
    assert "SupportedDensity" in density._repr_html_()
    with pytest.raises(ValueError, match="y must not contain nan"):
        density.log_prob(np.nan)


def test_windows_of_y_are_windows_of_z():
    exact = COUNTS.window(np.array([[0.0], [3.0]]))
    np.testing.assert_allclose(exact.lower[:, 0], [-np.inf, np.log(3)])
    np.testing.assert_allclose(exact.upper[:, 0], [0.0, np.log(4)])
    np.testing.assert_allclose(POSITIVE.window(np.array([[2.0]])), np.log(2))
    censored = POSITIVE.window(Window(np.array([[2.0], [-np.inf]]), np.array([[np.inf], [5.0]])))
    np.testing.assert_allclose(censored.lower[:, 0], [np.log(2), -np.inf])
    np.testing.assert_allclose(censored.upper[:, 0], [np.inf, np.log(5)])
    same = np.array([[1.0]])
    assert REAL.window(same) is same


def test_support_survives_json():
    assert all(Support.from_dict(s.to_dict()) == s for s in SUPPORTS.values())


def test_grids_stay_inside_and_offsets_multiply():
    hurdle = grid_between(of_normal(HURDLE), -1.0, 4.0, 50)
    assert hurdle.min() > 0
    assert hurdle.max() == 4
    np.testing.assert_array_equal(grid_between(of_normal(COUNTS), -2.0, 5.2, 99), np.arange(6))
    assert len(grid_between(of_normal(COUNTS, 8.0), 0.0, 9000.0, 99)) == 99
    three = SupportedDensity(moved(of_normal(POSITIVE).latent, np.array([np.log(3)])), POSITIVE)
    np.testing.assert_allclose(three.mean(), 3 * of_normal(POSITIVE).mean())


def test_right_counts_have_even_pit_and_full_coverage():
    latent = PredictiveMixture.of(np.full((4000, 1, 1), 0.3), np.full((1, 1, 1, 1), 0.6))
    density = SupportedDensity(latent, COUNTS)
    y = density.sample(1, 3)[:, 0]
    pit = metrics.pit(density, y)
    assert stats.kstest(pit, "uniform").pvalue > 1e-4
    (covered,) = metrics.coverages_seen(density, y, [0.9])
    assert abs(covered - 0.9) < 5 * np.sqrt(0.09 / 4000)
    with pytest.raises(ValueError, match="cde_loss"):
        metrics.cde_loss(density, y)
