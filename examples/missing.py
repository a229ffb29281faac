# # Missing inputs: intervals that widen as they should
#
# Leave `NaN` where a value is missing. The model draws the missing values together with
# everything else. The data are simulated, so the right answers are known. One entry in four is
# deleted.

import numpy as np

from deepnoise import BDeepNoiseRegressor

rng = np.random.default_rng(0)


def made(rows):
    x = rng.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 1.0]], size=rows)
    return x, 1.5 * x[:, 0] + np.abs(x[:, 1]) + 0.3 * rng.normal(size=rows)


X, y = made(400)
X[rng.random(X.shape) < 0.25] = np.nan
model = BDeepNoiseRegressor(hidden=(20,), random_state=0).fit(X, y)
print(model.diagnostics_.verdict)

# ## One row, three states of knowledge
#
# We ask about the same row three times, each time with less knowledge.

rows = np.array([[1.0, 1.0], [1.0, np.nan], [np.nan, np.nan]])
names = ["both known", "second missing", "both missing"]
for name, (low, high) in zip(names, model.predict_interval(rows, coverage=0.9)):
    print(f"{name:<15} 90 % interval from {low:5.2f} to {high:5.2f}")

# The dashed lines are the truth. It comes from many simulated rows that agree with what is known.
#
# <!-- alt: Predictive densities of one row with both inputs known, one missing and both missing.
# The density widens with each missing input and stays close to the dashed truth. -->

import matplotlib.pyplot as plt
from scipy.stats import gaussian_kde

all_x, all_y = made(400_000)
near = np.abs(all_x - 1.0) < 0.05
truths = [all_y[near.all(axis=1)], all_y[near[:, 0]][:4000], all_y[:4000]]
grid = np.linspace(-4, 7, 300)
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
curves = model.predict_density(rows).pdf_grid(grid)
colours = ["#0b6fb3", "#d95f02", "#7a7a7a"]
for name, curve, truth, colour in zip(names, curves, truths, colours):
    axes.fill_between(grid, curve, color=colour, alpha=0.2)
    axes.plot(grid, curve, color=colour, label=name)
    axes.plot(grid, gaussian_kde(truth)(grid), "--", color=colour, linewidth=1)
axes.set(xlabel="y", ylabel="density", ylim=(0, None), xlim=(-4, 7))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure
