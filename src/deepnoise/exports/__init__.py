"""Ways out: densities and models for other tools, and for places without deepnoise."""

from typing import TYPE_CHECKING

from ..lazy import attributes

if TYPE_CHECKING:
    from .hub import hub_table
    from .jax_file import to_jax
    from .onnx_file import to_onnx
    from .qp_ensemble import to_qp

__all__ = ["hub_table", "to_jax", "to_onnx", "to_qp"]

_HOME = {
    "hub_table": "hub",
    "to_jax": "jax_file",
    "to_onnx": "onnx_file",
    "to_qp": "qp_ensemble",
}

__getattr__, __dir__ = attributes(__name__, _HOME)
