# # Quick start: one density per patient
#
# How far will diabetes have progressed a year from now? The data come with scikit-learn: 442
# patients and ten measurements. We fit 331 patients and hold out 111.

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from deepnoise import BDeepNoiseRegressor, plots

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = BDeepNoiseRegressor(random_state=0).fit(X_train, y_train)
print(model.diagnostics_.verdict)

# The verdict says whether the chains agree. A chain is one run of the sampler; see
# [how chains are judged](../explanation/convergence.md).
#
# ## The answer is a density
#
# Each held-out patient gets a whole density. The picture shows twelve of them, from the mildest to
# the most serious forecast. The dots are what came true.
#
# <!-- alt: Predictive densities of twelve held-out patients, one above the other, with the 90 %
# interval shaded and the observed progression as a dot. -->

density = model.predict_density(X_test)
plots.ridge(density, y_test, xlabel="progression after a year")

# ## A decision
#
# Patients who will exceed 200 should be called in. Each line is one patient: the probability of
# 200 or more, then the ends of its 95 % credible interval.

print(model.predict_above(X_test[:4], 200).round(2))

# ## How good the densities are
#
# RMSE, NLL and CRPS are losses: smaller is better. A 90 % interval should hold 90 % of the
# patients.

for name, value in model.score_report(X_test, y_test).items():
    print(f"{name:<12} {value:.3f}")
