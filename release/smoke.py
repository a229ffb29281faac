"""What a new installation must do, in seconds: python smoke.py VERSION, with its own Python."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import deepnoise

expected = sys.argv[1]
assert Path(deepnoise.__file__).is_relative_to(sys.prefix), deepnoise.__file__
assert deepnoise.__version__ == version("deepnoise") == expected

X = np.linspace(-1, 1, 20)[:, None]
y = X[:, 0] ** 2 + 0.1 * np.sin(50 * X[:, 0])
model = deepnoise.BDeepNoiseRegressor(hidden=(2,), chains=2, warmup=5, draws=5, random_state=0)
low, high = model.fit(X, y).predict_interval(X[:3]).T
assert (low < high).all()

command = Path(sys.prefix, "bin", "deepnoise")
for option, words in {"--help": "Density regression", "--version": expected}.items():
    shown = subprocess.run([command, option], capture_output=True, text=True, check=True).stdout
    assert words in shown, shown
