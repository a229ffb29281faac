# # Quick start: diabetes
#
# How far will diabetes have progressed a year from now? The data come with scikit-learn: 442
# patients, ten measurements each. We fit 331 of them and keep 111 to see how good the predictions
# are.

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from deepnoise import BDeepNoiseRegressor, plots

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# ## Fit
#
# The defaults are meant to be good for a few hundred to a few thousand rows: two hidden layers of
# twenty, four chains.

model = BDeepNoiseRegressor(random_state=0)
model.fit(X_train, y_train)
model.posterior_

# ## The answer is a density
#
# For every patient there is a whole density, not a number. In a notebook the first few are shown.

density = model.predict_density(X_test)
density

# Each can be asked for anything: mean, quantiles, intervals, the probability of a range.

density.interval(0.9)[:3].round(1)

# The same for twelve patients, from the mildest to the most serious forecast, with what came true.

plots.ridge(density, y_test, xlabel="progression after a year")

# ## A decision
#
# Patients who will be beyond 200 should be called in. How likely is that, and how sure are we?
# Each line is one patient: the probability, then the ends of its 95 % credible interval.

model.predict_above(X_test[:5], 200).round(2)

# ## Is it any good?
#
# CRPS, RMSE and NLL are the smaller the better; a 90 % interval should hold 90 % of the patients.

{name: round(value, 3) for name, value in model.score_report(X_test, y_test).items()}

# Grey is where a right model would be with 95 % probability, bar by bar and level by level. Bars
# that rise at both ends would mean densities too narrow, a hump in the middle densities too wide.

plots.calibration(density, y_test)

# ## Have the chains settled?
#
# If they disagree, as chains of this length may, the forecast is still the average that was scored
# above, but small differences between patients should not be trusted; the advice says what to do.
# `deepnoise report` puts all of this on one page.

print(model.diagnostics_.verdict)
print(model.diagnostics_.advice)

# ## What matters
#
# How much the mean and the spread of the forecast change with each measurement.

plots.influence_bars(model.influence(X_test[:50]), scale=model.units_.x.scale)
