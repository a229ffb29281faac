"""``to_onnx``: the densities of a model as an ONNX file.

The graph is written down by doing arithmetic: tensors record what is done to them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

try:
    from onnx import TensorProto, checker, helper, numpy_helper
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("onnx is not installed: pip install 'deepnoise[onnx]'") from error

from ..estimators.settings import one_of
from .network import (
    DTYPES,
    check_agreement,
    header,
    mixture,
    network_of,
    output_shapes,
    write_whole,
)

# Versions of 2020 and 2021, which every runtime reads.
OPSET, IR_VERSION = 13, 7


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


@dataclass
class Graph:
    """Nodes and constants so far; floats become constants of ``dtype``."""

    dtype: np.dtype
    nodes: list = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    known: dict[tuple, str] = field(default_factory=dict)

    def tensor(self, operator: str, *inputs: Any, **attributes: Any) -> "Tensor":
        """The result of an operator."""
        names = [part.name if isinstance(part, Tensor) else self.constant(part) for part in inputs]
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return Tensor(self, name)

    def constant(self, value: Any) -> str:
        """The name of a constant; equal small ones share it."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            name = self.known[key] = f"c{len(self.known)}"
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return self.known[key]

    def input(self, name: str) -> "Tensor":
        return Tensor(self, name)

    def output(self, name: str, value: Any) -> None:
        """Give a result the name by which runtimes return it."""
        source = value.name if isinstance(value, Tensor) else self.constant(value)
        self.nodes.append(helper.make_node("Identity", [source], [name]))

    def info(self, name: str, shape: Sequence[Any]) -> Any:
        """Name, precision and shape of an input or output."""
        kind = TensorProto.DOUBLE if self.dtype == np.float64 else TensorProto.FLOAT
        return helper.make_tensor_value_info(name, kind, list(shape))


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph."""

    graph: Graph
    name: str

    # numpy leaves operators between its arrays and tensors to us.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> "Tensor":
        return self.graph.tensor("Add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Tensor":
        return self.graph.tensor("Sub", self, other)

    def __mul__(self, other: Any) -> "Tensor":
        return self.graph.tensor("Mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Tensor":
        return self.graph.tensor("Div", self, other)

    def __matmul__(self, other: Any) -> "Tensor":
        return self.graph.tensor("MatMul", self, other)

    def __ge__(self, other: Any) -> "Tensor":
        return self.graph.tensor("GreaterOrEqual", self, other)

    def __getitem__(self, place: tuple[slice, slice]) -> "Tensor":
        """Columns x[:, a:b]."""
        columns = place[1]
        ends = (np.array([end], np.int64) for end in (columns.start, columns.stop))
        return self.graph.tensor("Slice", self, *ends, np.array([1], np.int64))


def model_proto(graph: Graph, inputs: Mapping, outputs: Mapping, about: Mapping[str, str]) -> Any:
    """The file's content: inputs and outputs by name and shape, and what it says of itself."""
    given, found = ([graph.info(*part) for part in named.items()] for named in (inputs, outputs))
    made = helper.make_graph(graph.nodes, "deepnoise", given, found, list(graph.constants.values()))
    opset = [helper.make_opsetid("", OPSET)]
    proto = helper.make_model(
        made, opset_imports=opset, ir_version=IR_VERSION, producer_name="deepnoise"
    )
    helper.set_model_props(proto, dict(about))
    checker.check_model(proto)
    return proto


class Ops:
    """The functions of numpy that :mod:`deepnoise.exports.network` uses, on tensors."""

    @staticmethod
    def where(condition: Tensor, yes: Any, no: Any) -> Tensor:
        return condition.graph.tensor("Where", condition, yes, no)

    @staticmethod
    def clip(x: Tensor, low: float, high: float) -> Tensor:
        # Clip turns NaN into a number in some runtimes; comparisons keep it.
        x = Ops.where(x >= high, high, x)
        return Ops.where(x.graph.tensor("LessOrEqual", x, low), low, x)

    @staticmethod
    def concatenate(parts: Sequence[Tensor], axis: int) -> Tensor:
        return parts[0].graph.tensor("Concat", *parts, axis=axis)

    @staticmethod
    def transpose(x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.graph.tensor("Transpose", x, perm=list(axes))

    @staticmethod
    def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
        return x.graph.tensor("Reshape", x, np.array(shape, np.int64))

    @staticmethod
    def sqrt(x: Tensor) -> Tensor:
        return x.graph.tensor("Sqrt", x)
