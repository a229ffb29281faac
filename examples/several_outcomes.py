# # Several outcomes: one given the other
#
# With several outcomes the prediction is a joint density. You can ask for one outcome once
# another is known. Here the second outcome depends on the first one like the letter V. No
# covariance matrix can express that.

import numpy as np

from deepnoise import BDeepNoiseRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (600, 1))
first = x[:, 0] + 0.7 * rng.normal(size=600)
second = np.abs(first) + 0.2 * rng.normal(size=600)
model = BDeepNoiseRegressor(random_state=0).fit(x, np.c_[first, second])
print(model.diagnostics_.verdict)

# ## Ask for the second outcome
#
# At x = 0, the first outcome turns out to be -1, 0 or 1. The second one should be near 1, 0 and 1.

known = np.array([-1.0, 0.0, 1.0])
density = model.predict_density(np.zeros((3, 1)))
later = density.conditional({0: known})
for value, mean, (low, high) in zip(known, later.mean(), later.interval(0.9)):
    print(f"first {value:4.1f}: second {mean:.2f}, 90 % interval from {low:.2f} to {high:.2f}")

# ## The joint density at x = 0
#
# Left: the joint density with the training rows near x = 0. Right: the second outcome given the
# first one, beside the truth as dashed lines.
#
# <!-- alt: Left, the joint density of two outcomes, shaped like the letter V. Right, the density of
# the second outcome given the first one being -1, 0 or 1, beside the true densities. -->

import matplotlib.pyplot as plt

across, up = np.linspace(-2.5, 2.5, 90), np.linspace(-1, 3, 90)
at_zero = model.predict_density(np.zeros((90, 1)))
joint = at_zero.marginal(0).pdf(across)[:, None] * at_zero.conditional({0: across}).pdf_grid(up)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.pcolormesh(across, up, joint.T, cmap="Blues", shading="gouraud")
close = np.abs(x[:, 0]) < 0.15
left.plot(first[close], second[close], ".", color="0.2", markersize=4)
left.set(xlabel="first outcome", ylabel="second outcome")
curves = later.pdf_grid(up)
for value, curve, colour in zip(known, curves, ["#d95f02", "#0b6fb3", "#7a7a7a"]):
    right.plot(up, curve, color=colour, label=f"first = {value:.0f}")
    truth = np.exp(-(((up - abs(value)) / 0.2) ** 2) / 2) / (0.2 * np.sqrt(2 * np.pi))
    right.plot(up, truth, "--", color=colour, linewidth=1)
right.set(xlabel="second outcome", ylabel="density", ylim=(0, None))
right.legend(frameon=False)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
figure
