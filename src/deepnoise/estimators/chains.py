"""An estimator's chains: run, continued, kept, saved, and what predictions draw from them."""

import copy
import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import posterior as chains_of
from ..inference import streaming
from ..inference.diagnostics import Diagnostics
from ..inference.posterior import Plan, Posterior
from ..inference.runtime import numerics
from ..inference.sharding import Crew
from ..model.covariates import InputLaw, input_prior, inputs_given
from ..model.outcome import Window
from ..prediction.per_draw import DrawDensities, spaced
from ..prediction.uncertainty import Familiarity, familiarity
from . import files, settings
from .encode import TableEncoder, without_later
from .files import Checkpointer, checkpoint_seed, estimator_header
from .folds import Folds, TrainingRows
from .progress import reporting
from .units import Units

# Chains use fold_in(key(seed), chain); these numbers are no chain's.
PREDICTION = 2**32 - 1
INPUT_LAWS = 2**32 - 3
# Credible intervals need the law of each single draw, hence more paths than the predictive does.
PATHS_A_DRAW = 64


class PosteriorChains:
    """Chains of an estimator that has the parameters that are declared here."""

    devices: Any
    checkpoint: Any
    memory_limit: Any = None
    progress: Any
    paths: int
    random_state: Any
    max_sweeps: int | None
    encoder_: TableEncoder
    units_: Units
    posterior_: Posterior
    chain_weights_: np.ndarray
    _missing: Literal["error", "nan"] = "nan"
    _diagnostics: Diagnostics | None
    rows_: TrainingRows
    folds_: Folds | None = None
    encoded_rows: Callable[[Any], np.ndarray]
    restore: Callable[[dict[str, Any]], None]
    _judged: Callable[[], Diagnostics]

    def _checkpoint_seed(self) -> int | None:
        return checkpoint_seed(self.checkpoint) if self.random_state is None else None

    def _take_rows(self, plan: Plan, x: np.ndarray, y: np.ndarray, seen: Any) -> None:
        """Standardised rows to fit chains to; y has a number wherever ``seen`` has none."""
        if plan.dtype == "float32":
            settings.check_float32(x, y, "use standardize=True or dtype='float64'")
        numbers = y.astype(plan.dtype)
        self.rows_ = TrainingRows(x.astype(plan.dtype), numbers, numbers if seen is None else seen)
        self._laws: InputLaw | None = None
        self.chain_weights_ = np.full(plan.chains, 1 / plan.chains)

    def resume(self, draws: int) -> Self:
        """Continue the chains until each has this many draws, as if they had never stopped.

        Parameters
        ----------
        draws : int
            Draws per chain in all, including those that it has.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> model.fit(X, X[:, 0] ** 2).resume(30).posterior_.run.n_draws
        30
        """
        check_is_fitted(self)
        if self.posterior_.plan.sites is not None and self.encoder_.new_site is None:
            raise ValueError("a model that was adapted cannot be resumed; resume the one before")
        plan = replace(self.posterior_.plan, draws=settings.count("draws", draws, 1))
        if draws > self.posterior_.run.n_draws:
            self._run(plan, replace(self.posterior_, plan=plan))
        return self

    def thinned(self, draws: int | None = None, paths: int | None = None) -> Self:
        """Return a copy of this model with fewer draws or noise paths, for fast predictions.

        Its densities have ``draws`` × ``paths`` components of each chain, and the time of a
        prediction is in proportion.  They are estimates of the same densities from fewer
        simulations: ``cdf_distance`` of a :class:`PredictiveMixture` bounds what that costs at rows
        of yours.  The copy is saved and loaded like any other model; its ``diagnostics_`` judge
        the draws that are left.  This model does not change.

        Parameters
        ----------
        draws : int, optional
            Draws to keep of each chain, evenly spaced; by default all.
        paths : int, optional
            Noise paths to simulate for each draw; by default as many as now.

        Returns
        -------
        estimator
            Of the same class, fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> small = model.fit(X, X[:, 0] ** 2).thinned(10, paths=2)
        >>> small.predict_density(X).n_components, model.predict_density(X).n_components
        (41, 401)
        """
        check_is_fitted(self)
        held = self.posterior_.run.n_draws
        draws = held if draws is None else settings.count("draws", draws, 1)
        if draws > held:
            raise ValueError(f"draws must be at most {held}, what each chain has; got {draws}")
        paths = self.paths if paths is None else settings.count("paths", paths, 1)
        made = self.with_posterior(_thinned(self.posterior_, draws))
        # The folder of a checkpoint holds all draws.
        made.checkpoint, made.paths = None, paths
        return made

    def with_posterior(self, posterior: Posterior) -> Self:
        """Return a copy of this model with other draws, of which nothing is known yet."""
        made = copy.copy(self)
        made.posterior_ = posterior
        made._laws = made._diagnostics = None
        return made

    def restore_chains(
        self, header: dict[str, Any], posterior: Posterior, rows: dict[str, np.ndarray]
    ) -> None:
        """Take back what a model folder holds: draws, and the rows of :meth:`stored_rows`."""
        self.chain_weights_ = np.array(header["chain_weights"], dtype=float)
        self.rows_ = TrainingRows.of(rows)
        self.restore(header)
        self.posterior_ = posterior
        self._laws = self._diagnostics = None
        self._recall(rows)

    def stored_rows(self) -> dict[str, np.ndarray]:
        """What a model folder keeps of the training rows, by name."""
        folds = {} if self.folds_ is None else self.folds_.arrays()
        return {**self.rows_.arrays(), **folds}

    def _run(self, plan: Plan, posterior: Posterior | None = None) -> None:
        """Draw, from the start, from a checkpoint or from ``posterior`` on, and keep the result."""
        save, crew = None, Crew.of(self.devices)
        if self.checkpoint is not None:
            header = estimator_header(self, plan.seed)
            save = Checkpointer(self.checkpoint, plan, header, self.stored_rows(), crew)
            posterior = save.found if posterior is None else posterior
        with crew.working(), reporting(self.progress if crew.leads else False) as report:
            if crew.size > 1:
                digest = _digest(plan, posterior, self.stored_rows())
                crew.check_same(digest, "rows, settings or checkpoints")
            on_segment = _after_segments(save, report)
            fit, resume = self._engine(plan)
            if posterior is None:
                self._keep(fit(plan, on_segment=on_segment))
            else:
                self._keep(resume(posterior, draws=plan.draws, on_segment=on_segment))
            while self._unsettled():
                longer = self.posterior_.longer()
                try:
                    self._keep(resume(longer, draws=plan.draws, on_segment=on_segment))
                except KeyboardInterrupt:
                    break  # before the first draw of this round: those of the last one are kept
            if save is not None:
                save.header = estimator_header(self, plan.seed)
                save(self.posterior_, last=True)

    def _unsettled(self) -> bool:
        """Whether another round of draws is wanted, and within ``max_sweeps``."""
        plan, run = self.posterior_.plan, self.posterior_.run
        if settings.fixed_length(self) or run.n_draws < plan.draws:
            return False
        budget = partial(settings.most_sweeps, self.max_sweeps, len(self.rows_))
        if 2 * run.t > budget(close=True):
            return False
        found = self._judged()
        return not found.settled and 2 * run.t <= budget(found.close)

    def network_rows(self, rows: np.ndarray) -> np.ndarray:
        """Inputs of the network, of standardised rows."""
        return rows

    def _constant_inputs(self) -> tuple[int, ...]:
        """Inputs of the network that are always zero."""
        return ()

    def _recall(self, rows: dict[str, np.ndarray]) -> None:
        """Take back what a model folder holds of the rows beyond x and y."""

    def posterior_in_units(self) -> Posterior:
        """The posterior with the draws of all chains in the units of the model."""
        if self.folds_ is None:
            return self.posterior_
        draws, constant = self.posterior_.draws, self._constant_inputs()
        common = self.folds_.common(draws, self.units_, constant)
        return replace(self.posterior_, run=replace(self.posterior_.run, draws=common))

    def _engine(self, plan: Plan) -> tuple[Callable[..., Posterior], Callable[..., Posterior]]:
        """``fit`` and ``resume`` of our rows: in memory or, where that would not do, from disk."""
        limit = settings.memory("memory_limit", self.memory_limit)
        given: dict[str, Any] = {"x": self.rows_.x, "y": self.rows_.seen}
        if limit is not None and streaming.needed(plan, self.rows_.x, self.rows_.seen, limit):
            if self.devices != 1:
                raise ValueError("memory_limit needs devices=1: one device reads rows on disk")
            # Beside the checkpoint there is room on disk; a temporary folder may lie in memory.
            given |= {"limit": limit, "folder": self.checkpoint}
            return partial(streaming.fit, **given), partial(streaming.resume, **given)
        if self.folds_ is not None:
            if self.devices != 1:
                raise ValueError("chains of cross_fit need devices=1: they have different rows")
            x, seen, counted = self.folds_.given(plan, self.network_rows)
            given = {"x": x, "y": seen, "counted": counted}
        given["devices"] = settings.devices(self.devices)
        return partial(chains_of.fit, **given), partial(chains_of.resume, **given)

    def _keep(self, posterior: Posterior) -> None:
        # Arrays of JAX lose their 64 bits when pickled: numpy's do not.
        start = jax.tree.map(np.asarray, posterior.start)
        posterior = replace(posterior, start=start, run=posterior.run.whole())
        if not all(np.isfinite(a).all() for a in jax.tree.leaves(posterior.draws)):
            raise ValueError(
                "some draws are not finite: the chains diverged; try dtype='float64' or "
                "standardize=True"
            )
        self.posterior_ = posterior
        self._diagnostics = None

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, for :func:`deepnoise.load`.

        A model that the folder already holds is replaced.

        Parameters
        ----------
        path : path
            The folder.

        Examples
        --------
        >>> import deepnoise
        >>> import numpy as np
        >>> from deepnoise import BDeepNoiseRegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = BDeepNoiseRegressor(hidden=(3,), chains=2, warmup=50, draws=20, random_state=0)
        >>> model.fit(X, X[:, 0] ** 2).save("model")
        >>> bool(np.all(deepnoise.load("model").predict(X) == model.predict(X)))
        True
        """
        files.save(self, path)

    def draw_weights(self) -> np.ndarray:
        """Probabilities of the draws of all chains, one chain after the other."""
        return np.repeat(self.chain_weights_, draws := self.posterior_.run.n_draws) / draws

    def prediction_key(self) -> jax.Array:
        """The key of the noise paths of every prediction."""
        with numerics():
            return jax.random.fold_in(jax.random.key(self.posterior_.plan.seed), PREDICTION)

    def _laws_of_gaps(self, x: np.ndarray) -> InputLaw | None:
        """Laws of the inputs if x has gaps."""
        return self.input_laws() if np.isnan(x).any() else None

    def input_laws(self) -> InputLaw:
        """The law of the inputs, one for each draw of Theta.

        If the training rows had no gaps, they are independent draws given those rows.
        """
        laws, later = self._drawn_input_laws(), self.encoder_.later_site
        return laws if later is None else without_later(laws, later)

    def _drawn_input_laws(self) -> InputLaw:
        kept = self.posterior_.run.beside.inputs
        if kept is not None:
            return jax.tree.map(lambda a: np.asarray(a).reshape(-1, *a.shape[2:]), kept)
        if self._laws is None:
            with numerics():
                key = jax.random.key(self.posterior_.plan.seed)
                keys = jax.random.split(
                    jax.random.fold_in(key, INPUT_LAWS), len(self.draw_weights())
                )
                law = inputs_given(jnp.asarray(self.rows_.x), input_prior(self.rows_.x.shape[1]))
                self._laws = jax.tree.map(np.asarray, jax.lax.map(law.sample, keys))
        return self._laws

    def familiarity(self, X: Any) -> Familiarity:
        """Measure how much each row resembles the training rows.

        The inputs are judged under a normal law of the standardised features.  Missing values are
        left out, and so is a site that was not there when fitting.

        Parameters
        ----------
        X : table (N, P)

        Returns
        -------
        Familiarity
            Log density of the inputs, and the probability of inputs that lie further out.
        """
        x = self.network_rows(self.encoded_rows(X))
        x[:, len(self.units_.x.scale) :] = np.nan
        later, sites = self.encoder_.later_site, self.encoder_.sites
        if later is not None and sites is not None:
            x[x[:, later] == 1, slice(*sites)] = np.nan
        return familiarity(x, self.input_laws())

    def draw_densities_at(self, x: np.ndarray) -> DrawDensities:
        """The law of every draw at rows of the network's inputs."""
        return DrawDensities(
            key=self.prediction_key(),
            draws=self.posterior_in_units().flat(),
            weights=self.draw_weights(),
            x=x,
            h=self.posterior_.plan.h,
            paths=max(self.paths, PATHS_A_DRAW),
            scale=np.array(self.units_.y.scale),
            shift=np.array(self.units_.y.mean),
            inputs=self._laws_of_gaps(x),
        )


def _thinned(posterior: Posterior, draws: int) -> Posterior:
    """Some draws of each chain, evenly spaced, and what was drawn beside them."""
    run, chosen = posterior.run, spaced(posterior.run.n_draws, draws)
    kept, beside = jax.tree.map(lambda a: np.asarray(a[:, chosen]), (run.draws, run.beside))
    run = replace(run, draws=kept, beside=beside)
    return replace(posterior, plan=replace(posterior.plan, draws=draws), run=run)


def windows_of(plan: Plan, y: np.ndarray | Window) -> Window | None:
    """The windows of standardised outcomes in the precision of the plan; None if all were seen."""
    if not isinstance(y, Window):
        return None
    return Window(y.lower.astype(plan.dtype), y.upper.astype(plan.dtype))


def _digest(plan: Plan, posterior: Posterior | None, rows: dict[str, np.ndarray]) -> int:
    """A number that tells fits apart: of other settings, other rows or another stage."""
    stage = -1 if posterior is None else posterior.run.t
    digest = hashlib.sha256(f"{plan} {stage}".encode())
    for values in rows.values():
        digest.update(np.ascontiguousarray(values).tobytes())
    return int.from_bytes(digest.digest()[:7])


def _after_segments(save, report):
    """A function that writes checkpoints and shows progress; None if there is neither."""
    if save is None and report is None:
        return None

    def on_segment(posterior: Posterior) -> None:
        if save is not None:
            save(posterior)
        if report is not None:
            plan = posterior.plan
            total = (-(-plan.before // plan.thin) + plan.draws) * plan.thin
            report(posterior.run.t, total, posterior)

    return on_segment
