"""Ways out: densities and models for other tools, and for places without deepnoise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
