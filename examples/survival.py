# # Survival times: some patients are still alive
#
# A trial ends after five years. Of patients who are alive then, we only know that their time is
# longer. Their times are called censored. The data are simulated, so the true curves are known: a
# treatment works for half of the patients, who live about four times as long.

import numpy as np
from scipy.stats import norm

from deepnoise import BDeepNoiseSurvival

rng = np.random.default_rng(0)
treated = rng.integers(0, 2, 400)
responds = (treated == 1) & (rng.random(400) < 0.5)
time = np.exp(0.3 + 1.4 * responds + 0.4 * rng.normal(size=400))
event = time <= 5.0
seen = np.minimum(time, 5.0)
print(f"{1 - event.mean():.0%} of the times are censored")

# `BDeepNoiseSurvival` takes the times and whether the event was seen.

X = treated[:, None].astype(float)
model = BDeepNoiseSurvival(hidden=(20,), random_state=0).fit(X, (seen, event))
print(model.diagnostics_.verdict)

# ## Survival curves with credible bands
#
# At each time, the band holds the true probability with 95 % probability, given the model. The
# treated curve first falls like the other one. Then it bends, because half of the patients respond.
# In this sample 95 of the 221 treated do, fewer than half, so later the curve lies below the truth.
#
# <!-- alt: Survival curves over five years with and without treatment, each with a credible band,
# beside the true curves as dashed lines. The treated curve falls, then bends to fall slowly. -->

import matplotlib.pyplot as plt

years = np.linspace(0.2, 5.0, 60)
band = model.survival_bands([[0.0], [1.0]], years)
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for row, (name, colour) in enumerate([("no treatment", "#d95f02"), ("treated", "#0b6fb3")]):
    axes.fill_between(years, band.lower[row], band.upper[row], color=colour, alpha=0.25)
    axes.plot(years, band.mean[row], color=colour, label=name)
    share = 0.5 * row
    late, early = norm.sf((np.log(years) - 1.7) / 0.4), norm.sf((np.log(years) - 0.3) / 0.4)
    axes.plot(years, share * late + (1 - share) * early, "k--", linewidth=1)
axes.plot([], [], "k--", linewidth=1, label="truth")
axes.set(xlabel="years", ylabel="P(time > t)", ylim=(0, 1.02), xlim=(0, 5))
axes.legend(frameon=False, loc="upper right")
axes.spines[["top", "right"]].set_visible(False)
figure

# ## Numbers
#
# The median time in years, and the probability to live for more than three:

for name, row in (("no treatment", [[0.0]]), ("treated", [[1.0]])):
    median = model.predict(row)[0]
    three = model.predict_survival(row, [3.0])[0, 0]
    print(f"{name:<13} median {median:.2f} years, P(time > 3) = {three:.2f}")
