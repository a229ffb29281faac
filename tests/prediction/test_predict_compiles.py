"""Predictions of other numbers of rows reuse compiled programs: rows are filled up to buckets."""

import logging

import jax
import numpy as np

from deepnoise.model.activation import hard_tanh
from deepnoise.prediction.predict import predictive

from .networks import theta


def programs(caplog):
    texts = [record.getMessage() for record in caplog.records]
    return [text for text in texts if text.startswith("Compiling ")]


def test_rows_of_one_bucket_share_their_programs(key, caplog):
    rng = np.random.default_rng(0)
    draws = theta(rng, 3, (2, 3, 1))

    def predict(rows):
        density = predictive(key, draws, rng.normal(size=(rows, 2)), hard_tanh, 4)
        return density.mean(), density.log_prob(np.zeros(rows)), density.interval(0.9)

    predict(16)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        for rows in (9, 12, 15, 16):
            predict(rows)
        assert not programs(caplog)
        predict(17)
        assert programs(caplog)
