"""``to_jax``: the densities of a model as a program of ``jax.export``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.scipy.special import erfc
from numpy.typing import ArrayLike
from scipy.special import ndtri

try:
    import flatbuffers  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "programs of JAX need flatbuffers: pip install 'deepnoise[jax]'"
    ) from error

from ..estimators.settings import one_of
from ..inference.runtime import numerics
from .network import (
    DTYPES,
    Mixture,
    Network,
    check_agreement,
    header,
    mixture,
    network_of,
    output_shapes,
    write_whole,
)

PLATFORMS = ("cpu", "cuda", "tpu")


def to_jax(
    model: Any, path: str | Path, levels: ArrayLike = (0.05, 0.5, 0.95), dtype: str = "float64"
) -> None:
    """Write the predictive densities of a model as a program that JAX alone can run.

    ``path`` gets the program, serialised by ``jax.export``, and ``path`` + ".json" says what it
    takes and returns.  They hold no training rows, and deepnoise is not needed to run them.  Thin
    the model first: the file grows with draws × paths.

    The program maps encoded rows x (N, features), in the user's units and of any number, to a
    dict: ``weights`` and ``sds`` (1, C), ``means`` (N, C) of the components; ``mean`` and ``sd``
    (N,) of the outcome; ``quantiles`` (N, levels).  A row with NaN gives NaN.

    Parameters
    ----------
    model : BDeepNoiseRegressor or BDeepNoiseSurvival
        Fitted, with one outcome and no support.
    path : path
        The file, such as ``model.jax``; what is there is replaced.
    levels : array (M,)
        Probabilities of the quantiles, between 0 and 1; none with an empty list.
    dtype : {"float64", "float32"}
        Precision of input, constants and outputs; float64 runs under ``jax.enable_x64(True)``.

    Examples
    --------
    >>> import jax
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from deepnoise import BDeepNoiseRegressor
    >>> from deepnoise.exports import to_jax
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
    >>> small = model.fit(X, X[:, 0] ** 2).thinned(10, paths=2)
    >>> to_jax(small, "model.jax")
    >>> program = jax.export.deserialize(bytearray(Path("model.jax").read_bytes()))
    >>> with jax.enable_x64(True):
    ...     found = program.call(X[:5])
    >>> bool(np.allclose(found["mean"], small.predict(X[:5])))
    True
    """
    one_of("dtype", dtype, DTYPES)
    levels = checked_levels(levels)
    network = network_of(model)
    check_agreement(model, network)
    network = network.astype(dtype)
    with numerics():
        rows = export.symbolic_shape("rows")
        shape = jax.ShapeDtypeStruct((*rows, network.features), network.dtype)
        answer = jax.jit(answers(network, levels))
        content = export.export(answer, platforms=PLATFORMS)(shape).serialize()
    shapes = output_shapes(network.components) | {"quantiles": ("rows", len(levels))}
    versions = {"jax": jax.__version__, "levels": levels.tolist(), "platforms": PLATFORMS}
    said = json.dumps(header(model, network, shapes, **versions), indent=1)
    path = Path(path)
    write_whole({path: bytes(content), path.with_name(f"{path.name}.json"): said.encode()})


def checked_levels(levels: ArrayLike) -> np.ndarray:
    """Levels (M,) of quantiles, or an error."""
    found = np.atleast_1d(np.asarray(levels, float))
    if found.ndim != 1 or not ((found > 0) & (found < 1)).all():
        raise ValueError(f"levels must be numbers between 0 and 1; got {levels!r}")
    return found


def answers(network: Network, levels: np.ndarray) -> Callable[[jax.Array], dict[str, jax.Array]]:
    """The function that is exported."""

    def answer(x: jax.Array) -> dict[str, jax.Array]:
        found = mixture(network, x, jnp)
        return found._asdict() | {"quantiles": quantiles(found, levels)}

    return answer


def quantiles(law: Mixture, levels: np.ndarray) -> jax.Array:
    """Quantiles (N, M) by bisection.

    A mixture's quantile lies between the least and the largest of its components.
    """
    dtype = law.means.dtype
    steps = 2 * jnp.finfo(dtype).nmant

    def at(level: jax.Array, z: jax.Array) -> jax.Array:
        ends = law.means + z * law.sds

        def halve(_: Any, bracket: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = bracket
            middle = low + (high - low) / 2
            tails = 0.5 * erfc((law.means - middle[:, None]) / law.sds * np.sqrt(0.5))
            below = jnp.sum(law.weights * tails, axis=1) < level
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        low, high = jax.lax.fori_loop(0, steps, halve, (ends.min(axis=1), ends.max(axis=1)))
        return low + (high - low) / 2

    found = [at(*np.array(pair, dtype)) for pair in zip(levels, ndtri(levels), strict=True)]
    empty = jnp.zeros((law.means.shape[0], 0), dtype)
    return jnp.stack(found, axis=1) if found else empty
