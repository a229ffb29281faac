# # Two humps: when a mean misleads
#
# Sometimes the same x leads to very different y: a machine that either works or stalls, a patient
# who responds or does not. A mean then lies where little happens. This is the multimodal law of the
# paper, for which the true density is known: in the middle of the range of x, 30 % of the outcomes
# are low, 30 % are high, each within a narrow band, and the rest lie thinly in between.

import numpy as np

from deepnoise import BDeepNoiseRegressor, plots
from deepnoise.datasets.synthetic import sample, true_pdf, true_quantile

x, y = sample("multimodal", 600, seed=0)
X = x[:, None]

# ## Fit
#
# Two humps need a little more than a bell curve does: wider layers and longer chains.

model = BDeepNoiseRegressor(hidden=(30, 30), warmup=1500, draws=200, random_state=0)
model.fit(X, y)
print(model.diagnostics_.verdict)

# ## The density over x
#
# Dark is likely. The line is the median: in the middle it runs where few outcomes are.

grid = np.linspace(-1, 1, 150)
plots.density_heatmap(model, grid, 0, X, y, coverage=None, xlabel="x")

# ## One x
#
# At x = 0: the smallest region that holds half of the outcomes. It comes in pieces, one for each
# hump; a single interval would hide that.

middle = model.predict_density([[0.0]])
[[round(float(end), 2) for end in piece] for piece in middle.hdi(0.5)[0]]

# The density at the lower hump, between the two, and at the upper one:

places = [-0.5, 0.0, 0.5]
middle.pdf_grid(places)[0].round(2).tolist()

# ## Against the truth
#
# The true density at the same three places:

true_pdf("multimodal", np.array([0.0]), np.array(places))[0].round(2).tolist()

# The mean distance between true and predicted quantiles over the whole range of x, beside that of
# a bell curve with the true mean and the true variance:

from deepnoise import GaussianMixture
from deepnoise.datasets.synthetic import GRID_X, LEVELS, mean_function, var_function
from deepnoise.prediction.metrics import quantile_l1

truth = true_quantile("multimodal", GRID_X, LEVELS)
bell = GaussianMixture.of(
    mean_function("multimodal", GRID_X)[:, None, None],
    var_function("multimodal", GRID_X)[:, None, None, None],
)
distances = {
    "deepnoise": quantile_l1(model.predict_density(GRID_X[:, None]), truth, LEVELS),
    "bell curve": quantile_l1(bell, truth, LEVELS),
}
{name: round(distance, 4) for name, distance in distances.items()}
