"""``to_onnx``: the densities of a model as an ONNX file."""

import json
from pathlib import Path
from typing import Any

from ..estimators.settings import one_of
from .agreement import check_agreement
from .contents import DTYPES, header, output_shapes, write_whole
from .forward import mixture
from .network import network_of
from .onnx_graph import Graph, Ops, model_proto


def to_onnx(model: Any, path: str | Path, dtype: str = "float64") -> None:
    """Write the predictive densities of a model as an ONNX file.

    The file maps encoded rows in the user's units to Gaussian mixtures.  It holds no training
    rows, and no deepnoise or Python is needed to run it.  Thin the model first: the file grows
    with draws × paths.

    Input ``x`` is (N, features); ``features`` of the file's metadata ``deepnoise`` names them.
    Outputs are ``weights`` and ``sds`` (1, C), ``means`` (N, C) of the components, and ``mean``
    and ``sd`` (N,) of the outcome.  A row with NaN gives NaN.

    Parameters
    ----------
    model : BDeepNoiseRegressor or BDeepNoiseSurvival
        Fitted, with one outcome and no support.
    path : path
        The file, such as ``model.onnx``; what is there is replaced.
    dtype : {"float64", "float32"}
        Precision of input, constants and outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnoise import BDeepNoiseRegressor
    >>> from deepnoise.exports import to_onnx
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> small = model.fit(X, X[:, 0] ** 2).thinned(10, paths=2)
    >>> to_onnx(small, "model.onnx")
    >>> import onnx
    >>> [output.name for output in onnx.load("model.onnx").graph.output]
    ['weights', 'means', 'sds', 'mean', 'sd']
    """
    one_of("dtype", dtype, DTYPES)
    network = network_of(model)
    check_agreement(model, network)
    network = network.astype(dtype)
    graph = Graph(network.dtype)
    found = mixture(network, graph.input("x"), Ops)
    shapes = output_shapes(network.components)
    for name, value in found._asdict().items():
        graph.output(name, value)
    about = json.dumps(header(model, network, shapes))
    proto = model_proto(graph, {"x": ("rows", network.features)}, shapes, {"deepnoise": about})
    write_whole({Path(path): proto.SerializeToString()})
