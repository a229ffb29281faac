# # A gauge that stops: censored outcomes
#
# Some outcomes are only known to be above or below a value: a gauge that stops at its end, a
# patient who leaves a study, a part that has not failed yet. Here a gauge stops at 1.0, so that the
# largest outcomes are all recorded as 1.0. The truth is known, because the data are made up.

import numpy as np

from deepnoise import BDeepNoiseRegressor, between

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, 300)
truth = 1.5 * x + (0.2 + 0.3 * (x > 0)) * rng.normal(size=300)
stopped = truth > 1.0
recorded = np.minimum(truth, 1.0)
X = x[:, None]
print(f"{stopped.mean():.0%} of the outcomes are cut off")

# ## Three fits
#
# The first knows what was seen: exact values, and "at least 1.0". The second takes the end of the
# gauge for the value, the third throws the rows away.


def network():
    return BDeepNoiseRegressor(hidden=(20,), warmup=800, draws=200, random_state=0)


seen = between(recorded, np.where(stopped, np.inf, recorded))
fits = {
    "windows": network().fit(X, seen),
    "end taken for value": network().fit(X, recorded),
    "rows dropped": network().fit(X[~stopped], recorded[~stopped]),
}

# ## New outcomes, all of them seen
#
# The negative log density of 2000 new outcomes, and the median where x is 0.9, which is 1.35 in
# truth:

new = rng.uniform(-1, 1, 2000)
outcome = 1.5 * new + (0.2 + 0.3 * (new > 0)) * rng.normal(size=2000)
for name, model in fits.items():
    nll = model.score_report(new[:, None], outcome)["nll"]
    median = model.predict_quantiles([[0.9]], 0.5)[0]
    print(f"{name:<20} nll {nll:6.3f}   median at 0.9 {median:5.2f}")

# ## What each believes at x = 0.9
#
# The fit that took the end for a value is sure of it: its peak leaves the picture.

import matplotlib.pyplot as plt

grid = np.linspace(-0.5, 3, 300)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, model in fits.items():
    axes.plot(grid, model.predict_density([[0.9]]).pdf_grid(grid)[0], label=name)
normal = np.exp(-(((grid - 1.35) / 0.5) ** 2) / 2) / (0.5 * np.sqrt(2 * np.pi))
axes.plot(grid, normal, "k--", label="truth")
axes.axvline(1.0, color="0.6", linewidth=1)
axes.set(xlabel="y", ylabel="density", ylim=(0, 2))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure
