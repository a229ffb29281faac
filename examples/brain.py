# # Brain images: which regions matter
#
# The paper predicts a test score from brain images and a few other characteristics. Those data are
# access-controlled, so we simulate a cohort with a known truth: 600 subjects, one image file each,
# 24 regions. You need `pip install 'deepnoise[neuro]'`.

import tempfile

from deepnoise import BDeepNoiseRegressor
from deepnoise.datasets.neuro import load_neuro, mni_grid, parcels, simulate_cohort

folder = tempfile.mkdtemp()
atlas = parcels(24, mni_grid(6.0, (31, 37, 31)))
cohort = simulate_cohort(folder, atlas, subjects=600, seed=0)
table = load_neuro(cohort.table, cohort.images, atlas)
X = table.covariates.join(table.imaging)
y = table.outcome
print(f"{len(X)} subjects, {X.shape[1]} columns")

# ## Fit, and score on 120 held-out subjects

model = BDeepNoiseRegressor(hidden=(20,), random_state=0).fit(X[:480], y[:480])
print(model.diagnostics_.verdict)
print(f"R² with images {model.score(X[480:], y[480:]):.2f}")

# The same without the images:

covariates = BDeepNoiseRegressor(hidden=(20,), random_state=0)
covariates.fit(table.covariates[:480], y[:480])
print(f"R² without {covariates.score(table.covariates[480:], y[480:]):.2f}")

# ## Influence on the brain
#
# Influence is how much the mean of the score changes when a region's activation changes by one
# standard deviation. The upper row shows what we found: regions above the floor, which is what
# noise alone may reach. The lower row shows the truth.
#
# <!-- alt: Two rows of glass brains seen from the sides, behind and above. The upper row shows the
# estimated influence of 24 regions, the lower row the true influence. -->

import matplotlib.pyplot as plt
import numpy as np
from nilearn.plotting import plot_glass_brain

found = model.influence(X[:480])
sizes = dict(zip(found.columns, np.where(found.on_mean.clear, found.on_mean.size, 0.0)))
estimated = np.array([sizes[name] for name in atlas.names])
true = cohort.truth.influence(X)["mean"].loc[list(atlas.names)].to_numpy()
figure, rows = plt.subplots(2, figsize=(7, 3.8))
figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.98, hspace=0.1)
for axes, values, title in zip(rows, (estimated, true), ("found", "truth")):
    brain = plot_glass_brain(
        atlas.painted(values),
        display_mode="lyrz",
        axes=axes,
        cmap="YlOrRd",
        vmin=0,
        vmax=true.max(),
        threshold=1e-9,
        plot_abs=False,
        annotate=False,
    )
    brain.title(title, size=12, color="0.2", bgcolor="white")
figure

# How many regions we found, and how many of them truly matter:

clear = estimated > 0
print(f"{clear.sum()} regions above the floor, {(true[clear] > 0).sum()} of them true")
print(f"{(true > 0).sum()} regions matter in truth")
