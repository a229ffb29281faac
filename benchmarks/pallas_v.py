"""Make m = beta u + gamma, draw v and sum the squares of a layer in one pass, by a kernel by hand.

    PYTHONPATH=src python3 benchmarks/pallas_v.py --out pallas.jsonl    (on a GPU; two minutes)
    python benchmarks/pallas_v.py --quick                               (toy sizes, any machine)

Against the package's own parts, and against the kernel's way to draw without a kernel.  The sums
are those of the v just drawn: a sweep with this pass has the order v, variances, u, weights.  Needs
jax, numpy and scipy.
"""

from in_turn import alone, asked, run_cases

# isort: split
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

import gpu
import gpu_parts
from deepnoise.inference import gibbs
from deepnoise.inference.gibbs import GibbsState
from deepnoise.inference.kernels import GibbsKernel
from deepnoise.inference.runtime import numerics
from deepnoise.inference.sampling import advance
from deepnoise.inference.unseen import chain_axes
from deepnoise.model.activation import hard_tanh
from deepnoise.model.gaussian import after
from deepnoise.model.network import Latents, Theta, pre_activation
from deepnoise.model.random import uniform_pair
from pallas_v_checks import checks
from pallas_v_kernel import PLAIN, Tile, draw, layer, units_of

SIZES = [(5, 41157), (1, 41157), (80, 455), (5, 1_000_000)]
OUTSIDE = [Tile("outside", 1, steps, 8) for steps in (16, 4, 64)]
OUTSIDE += [Tile("outside", 1, 16, 4), Tile("outside", 2, 8, 8)]
INSIDE = [Tile("ieee", *sizes) for sizes in ((16, 8, 8), (16, 8, 16), (32, 4, 8))]
INSIDE += [Tile("tf32x3", *sizes) for sizes in ((16, 8, 8), (16, 8, 16))]


# Ways to make the pass: (key, theta, v, u) -> the new v and sums (2, K) of every hidden layer.


def by_package(key, theta: Theta, v, u):
    """Sums of the v before; the new one waits for them, as in the sweep."""
    m = [pre_activation(*part) for part in zip(u, theta.beta, theta.gamma)][:-1]
    sums = [sums_of(*part) for part in zip(m, v, u[1:])]
    pairs = zip(theta.tau2, sums)
    tau2 = tuple(jnp.where(s[0] >= 0, t, jnp.nan) for t, s in pairs)
    settled = Theta(theta.beta, theta.gamma, (*tau2, theta.tau2[-1]), theta.sigma2)
    return gibbs.draw_v(key, settled, [*m, None], u, hard_tanh), sums


def by_layers(one: Callable, key, theta: Theta, _, u):
    keys = [jax.random.fold_in(key, l) for l in range(theta.L)]
    layers = zip(keys, u, u[1:], theta.beta, theta.gamma, theta.tau2, theta.sigma2)
    return tuple(zip(*(one(*part) for part in layers)))


def by_xla(key, u, u_next, beta, gamma, tau2, sigma2):
    m = pre_activation(u, beta, gamma)
    pair = uniform_pair(key, m.shape, m.dtype)
    # Sums read it: they do not draw it again.
    v = jax.lax.optimization_barrier(draw(m, u_next, units_of(tau2, sigma2), *pair, PLAIN))
    return v, sums_of(m, v, u_next)


def by_kernel(tile: Tile, key, *given):
    return layer(tile, jax.random.key_data(key), *given)


def sums_of(m, v, u_next):
    misses = v - m, u_next - hard_tanh(v)
    return jnp.stack([jnp.sum(miss**2, axis=0, dtype=float) for miss in misses])


WAYS = {"package": by_package, "its draw by XLA": partial(by_layers, by_xla)}
WAYS |= {str(tile): partial(by_layers, partial(by_kernel, tile)) for tile in OUTSIDE + INSIDE}


@dataclass(frozen=True)
class OnePass(GibbsKernel):
    """A sweep in the order v, variances, u, weights."""

    way: str = "package"

    def step(self, key, t, state: GibbsState, data) -> GibbsState:
        del t
        key_v, key_s, key_u, key_w = jax.random.split(key, 4)
        old, x, y = state.theta, data.x, data.y
        beta, gamma = old.beta, old.gamma
        v, u = state.latents.clamp(x, y)
        v, sums = WAYS[self.way](key_v, old, v, u)
        last = pre_activation(u[-1], beta[-1], gamma[-1])
        prior = data.prior.given(state.scales)
        misses = [s.astype(x.dtype) for s in (*(s[0] for s in sums), sums_of(last, y, last)[0])]
        preact = [law.updated(len(x), s) for law, s in zip(prior.preact, misses)]
        misses = [s[1].astype(x.dtype) for s in sums]
        postact = [law.updated(len(x), s) for law, s in zip(prior.postact, misses)]
        given = beta, gamma, state.scales, data.prior
        tau2, sigma2, scales = gibbs.sample_variances(key_s, preact, postact, *given)
        key_s = jax.random.fold_in(key_s, gibbs.SCALES)
        scales = gibbs.draw_scales(key_s, tau2, sigma2, scales, data.prior)
        u = gibbs.draw_u(key_u, Theta(beta, gamma, tau2, sigma2), (*v, y), self.h)
        latents = Latents(v, u)
        weights = gibbs.draw_weights(key_w, *latents.clamp(x, y), after(tau2, u[-1]), scales)
        return GibbsState(Theta(*weights, tau2, sigma2), scales, latents)


# Times


def in_chains(f: Callable) -> Callable:
    """f(key, theta, v, u) of all chains, from what ``gpu_parts.arguments`` makes."""

    def one(key, state, data):
        return f(key, state.theta, *state.latents.clamp(data.x, data.y))

    return lambda keys, state, data, *_: jax.vmap(one, (0, 0, chain_axes(data)))(keys, state, data)


def compiled(f: Callable, size) -> Callable | str:
    """Or why not."""
    try:
        return gpu.compiled(f, size, "gibbs")
    except Exception as error:
        return why(error)


def why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def passes_case(size, ways: list[str]) -> Iterator[dict]:
    """Milliseconds of the pass for all chains, and whether its sums are those of its draws."""
    programs = {way: compiled(in_chains(WAYS[way]), size) for way in ways}
    arguments = partial(gpu_parts.arguments, size, "gibbs")
    make, shapes = jax.jit(arguments).lower().compile(), jax.eval_shape(arguments)
    v, _ = jax.eval_shape(in_chains(by_package), *shapes)
    again = jax.jit(summed).lower(v, *shapes).compile()
    alone()
    given = make()
    for way, program in programs.items():
        row = {"chains": size.chains, "rows": size.rows, "pass": way}
        if isinstance(program, str):
            yield row | {"failed": program}
            continue
        try:
            ms = 1e3 * gpu.seconds_a_call(program, (*given, jnp.int64(0)))
            v, sums = program(*given, jnp.int64(0))
        except Exception as error:
            yield row | {"failed": why(error)}
            continue
        yield row | {"ms": ms}
        if way != "package":
            pairs = zip(sums, again(v, *given))
            off = max(float(jnp.max(jnp.abs(a / b - 1))) for a, b in pairs) / 1e-2
            model = f"{size.chains} x {size.rows}"
            yield {"check": way, "model": model, "sums": off, "ok": off < 1}


def summed(v, keys, state, data):
    """The sums as the package makes them."""

    def f(_, theta, v, u):
        m = [pre_activation(*part) for part in zip(u, theta.beta, theta.gamma)]
        return [sums_of(*part) for part in zip(m, v, u[1:])]

    state = GibbsState(state.theta, state.scales, Latents(v, state.latents.u))
    return in_chains(f)(keys, state, data)


def sweeps_case(size, way: str) -> Iterator[dict]:
    """Milliseconds of a whole sweep."""
    own = gpu_parts.kernel_of("gibbs")
    kernel = own if way == "package" else OnePass(hard_tanh, settle=0, way=way)

    def steps(keys, state, data, count):
        return advance(kernel, 1, keys, state, jnp.int64(0), count, data)[0]

    program = compiled(steps, size)
    make = jax.jit(partial(gpu_parts.arguments, size, "gibbs")).lower().compile()
    alone()
    row = {"chains": size.chains, "rows": size.rows, "sweep": way}
    if isinstance(program, str):
        yield row | {"failed": program}
    else:
        yield row | {"ms": 1e3 * gpu.seconds_a_step(program, make())}


def device_case(quick: bool) -> Iterator[dict]:
    alone()
    device = jax.devices()[0].device_kind
    yield {"device": device, "jax": jax.__version__, **gpu.rates(quick)}


def case(words: list[str], quick: bool) -> Iterator[dict]:
    what, *words = words
    if what == "device":
        return device_case(quick)
    if what == "checks":
        tiles = OUTSIDE if words[0] == "outside" else INSIDE
        return checks(tiles[1:2], 60, K=20) if quick else checks(tiles, 1003)
    size = gpu.size_of(int(words[0]), int(words[1]))
    return passes_case(size, words[2:]) if what == "passes" else sweeps_case(size, words[2])


def all_cases(quick: bool) -> list[list[str]]:
    xla, outside, inside = "its draw by XLA", list(map(str, OUTSIDE)), list(map(str, INSIDE))
    cases = [["device"], ["checks", "outside"], ["checks", "inside"]]
    if quick:
        cases += [["passes", "1", "60", "package", xla, outside[1], inside[1]]]
        return [*cases, ["sweeps", "1", "60", outside[1]]]
    first, *others = [list(map(str, size)) for size in SIZES]
    cases += [["passes", *first, *ways] for ways in (["package", xla], outside, inside)]
    cases += [["sweeps", *first, way] for way in ("package", xla, outside[0], inside[0])]
    for size in others:
        cases += [
            ["passes", *size, *ways] for ways in (["package", xla], [*outside[:2], inside[0]])
        ]
    return cases


def floor(row: dict, rates: dict) -> float:
    """Milliseconds of a sweep as in ``gpu.py``; of a pass, to read x and every u and write v."""
    size = gpu.size_of(row["chains"], row["rows"])
    if "sweep" in row:
        return 1e3 * sum(gpu.floor(size, "gibbs", rates).values())
    numbers = size.inputs + 2 * sum(size.hidden)
    return 1e3 * 4 * numbers * size.chains * size.rows / rates["bytes"]


def report(rows: list[dict]) -> Iterator[str]:
    """All of it as Markdown."""
    unknown = dict.fromkeys(("bytes", "flops32", "flops64"), float("nan"))
    rates = next((row for row in rows if "device" in row), unknown)
    if "device" in rates:
        yield f"jax {rates['jax']}, {rates['device']}, copy {rates['bytes'] / 1e9:.0f} GB/s"
    yield "\n| check | model | error (99.99 %), 1 allowed | moved | sums, 1 allowed | |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        if "check" in row:
            cells = [f"{row[k]:.2g}" if k in row else "" for k in ("error", "moved", "sums")]
            result = row.get("failed") or ("right" if row["ok"] else "WRONG")
            yield f"| {row['check']} | {row.get('model', '')} | {' | '.join(cells)} | {result} |"
    yield "\n| chains | N | what | by | ms | floor ms | ratio |\n|---|---|---|---|---|---|---|"
    timed = [(row, what) for row in rows for what in ("pass", "sweep") if what in row]
    for row, what in timed:
        cells = f"{row.get('failed')} | |"
        if "ms" in row:
            least = floor(row, rates)
            cells = f"{row['ms']:.3f} | {least:.3f} | {row['ms'] / least:.1f} |"
        yield f"| {row['chains']} | {row['rows']} | {what} | {row[what]} | {cells}"
    # What the sweeps should take, from the passes.
    ms = {(what, row[what]): row["ms"] for row, what in reversed(timed) if "ms" in row
          and (row["chains"], row["rows"]) == SIZES[0]}  # fmt: skip
    if {("sweep", "package"), ("pass", "package")} <= ms.keys():
        rest = ms["sweep", "package"] - ms["pass", "package"]
        for (what, way), own in ms.items():
            if what == "pass":
                yield f"\nthe rest of the sweep and the pass by {way}: {rest + own:.3f} ms"


def main() -> int:
    options = asked(__doc__.splitlines()[0], seconds=150)
    if options.case:
        with numerics():
            for row in case(options.case, options.quick):
                print(json.dumps(row), flush=True)
        return 0
    quick = ["--quick"] * options.quick
    cases = [[*quick, "--case", *words] for words in all_cases(options.quick)]
    rows = run_cases(__file__, cases, options.seconds)
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print("\n".join(report(rows)))
    made = [row["ok"] for row in rows if "ok" in row]
    return 0 if all(made) and any("device" in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
