"""Tables of inputs at the door of an estimator: checked, encoded, in standard units."""

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .encode import TableEncoder, is_frame
from .units import Units


class TableInputs(BaseEstimator):
    """What every estimator does with X.  ``_missing`` is "nan" where it has a use for gaps."""

    encoder_: TableEncoder
    units_: Units
    _missing: Literal["error", "nan"] = "error"
    sites: Any = None

    @property
    def accepts_missing_(self) -> bool:
        """Whether rows may hold NaN."""
        return self._missing == "nan"

    def __sklearn_is_fitted__(self) -> bool:
        # The seed is set last: a fit that failed leaves no half-fitted estimator.
        return hasattr(self, "seed_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.accepts_missing_
        return tags

    def header(self) -> dict[str, Any]:
        """What a model folder must say of this kind of estimator beyond the usual."""
        return {}

    def restore(self, header: dict[str, Any]) -> None:
        """Take back what :meth:`header` said."""

    def _learn_inputs(self, X: Any) -> tuple[TableEncoder, np.ndarray]:
        """The encoder of a checked training table, and the table encoded."""
        encoder = TableEncoder.learn(X, self._missing, self.sites)
        x = self._encoded(encoder, X)
        empty = np.flatnonzero(np.isnan(x).all(axis=0))
        if empty.size:
            name = encoder.feature_names[empty[0]].split("=")[0]
            raise ValueError(f"X: all values of column {name!r} are missing; drop it")
        return encoder, x

    def _checked(self, X: Any, y: Any = "no_validation", reset: bool = True) -> Any:
        """scikit-learn's own checks; NaN is left to the encoder, which says where it is."""
        settings = {"skip_check_array": True} if is_frame(X) else {"ensure_all_finite": False}
        if not is_frame(X) and not isinstance(y, str):
            settings["multi_output"] = True
        return validate_data(self, X, y, reset=reset, **settings)

    def _encoded(self, encoder: TableEncoder, X: Any) -> np.ndarray:
        x = encoder.encode(X, self._missing)
        finite: Any = "allow-nan" if self._missing == "nan" else True
        return check_array(
            x, dtype=np.float64, estimator=self, input_name="X", ensure_all_finite=finite
        )

    def encoded_rows(self, X: Any) -> np.ndarray:
        """Standardised rows of a table, for the methods of ``predictive_``."""
        features = self._features(X)
        return self.units_.x.apply(features)

    def _features(self, X: Any) -> np.ndarray:
        """Encoded rows of a table at prediction."""
        check_is_fitted(self)
        X = self._checked(self.encoder_.select(X), reset=False)
        return self._encoded(self.encoder_, X)


def whole_rows(model: Any, X: Any) -> np.ndarray:
    """Places of rows in which nothing that the model needs is missing."""
    return np.flatnonzero(~np.isnan(model.encoded_rows(X)).any(axis=1))


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, a pandas or a polars frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows] if hasattr(X, "columns") else np.asarray(X)[rows]
