# # Two humps: when a mean misleads
#
# Sometimes the same x leads to very different y. A machine works or stalls; a patient responds or
# does not. The mean then lies where little happens. We use the multimodal law of the paper, whose
# true density is known.

import numpy as np

from deepnoise import BDeepNoiseRegressor, plots
from deepnoise.datasets.synthetic import sample, true_pdf

x, y = sample("multimodal", 600, seed=0)
X = x[:, None]
model = BDeepNoiseRegressor(hidden=(30, 30), warmup=1500, draws=200, random_state=0)
model.fit(X, y)
print(model.diagnostics_.verdict)

# ## The density over x
#
# Dark means likely. The line is the median. Between -0.5 and 0.5 it runs where few outcomes are.
#
# <!-- alt: Heat map of the predictive density over x. In the middle it splits into a band above
# and a band below, with the median running through the empty space between them. -->

grid = np.linspace(-1, 1, 150)
plots.density_heatmap(model, grid, 0, X, y, coverage=None, xlabel="x")

# ## Half of the outcomes at x = 0
#
# The smallest region that holds half of the probability comes in two pieces. A single interval
# would hide that.

middle = model.predict_density([[0.0]])
for low, high in middle.hdi(0.5)[0]:
    print(f"from {low:.2f} to {high:.2f}")

# ## Against the truth
#
# The density at the lower hump, between the humps, and at the upper hump:

places = np.array([-0.5, 0.0, 0.5])
print("predicted", middle.pdf_grid(places)[0].round(2))
print("true     ", true_pdf("multimodal", np.array([0.0]), places)[0].round(2))
