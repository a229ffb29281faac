"""What estimators, posteriors, densities and a running fit look like in a notebook."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn

from deepnoise import BDeepNoiseRegressor, PredictiveMixture
from deepnoise.estimators.progress import in_notebook, reporting
from deepnoise.prediction.density.support import Support
from deepnoise.prediction.density.supported import SupportedDensity
from tests.report.pages import EVIL, fitted, parsed, table


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_an_estimator_keeps_scikit_learns_picture(model):
    new = BDeepNoiseRegressor()
    assert "sk-container" in new._repr_html_()
    assert "fitted on" not in parsed(new._repr_html_()).text
    page = parsed(model._repr_html_())
    assert "sk-container" in model._repr_html_()
    assert "30 rows, 2 columns" in page.text
    assert "2 chains, 20 draws each" in page.text
    assert model._repr_mimebundle_()["text/html"].endswith("</table>")
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")


def test_a_posterior(model):
    page = parsed(model.posterior_._repr_html_())
    assert not page.broken
    assert "3 → 2 → 1" in page.text
    assert "20 a chain, of 20" in page.text
    # beta 6 + 2, gamma 2 + 1, tau2 2 + 1, sigma2 2
    assert "16 a draw" in page.text


def test_a_density():
    means = np.arange(14.0).reshape(7, 1, 2)
    one = PredictiveMixture.of(means[..., :1], np.full((1, 1, 1, 1), 4.0))
    page = parsed(one._repr_html_())
    assert not page.broken
    assert "PredictiveMixture of 7 rows, 1 components each, the first 5" in page.text
    assert page.tags["tr"] == 6
    assert page.tags["polyline"] == 5
    for value in ("8", "2", "4.71", "11.29"):
        assert value in page.text
    both = parsed(PredictiveMixture.of(means, np.eye(2)[None, None])._repr_html_())
    assert "2 outcomes" in both.text
    assert both.tags["tr"] == 11


def test_plain_text_is_one_line_without_arrays(model):
    density = model.predict_density(table(3, 1)[0])
    supported = SupportedDensity(density, Support("positive", low=0.0, points=(0.0,)))
    assert repr(model.posterior_) == "Posterior(2 chains of 20 draws, layers 3 → 2 → 1)"
    assert (
        repr(density) == f"PredictiveMixture(3 rows, 1 outcomes, {density.n_components} components)"
    )
    assert repr(supported).endswith("components, positive, point masses (0.0,))")


def test_texts_are_escaped():
    from deepnoise.inference import notebook

    assert EVIL not in notebook.facts(EVIL, [(EVIL, EVIL)])
    assert EVIL not in notebook.table(EVIL, [EVIL], [[EVIL, "<b>curve</b>"]])


def test_diagnostics_influence_and_decompose(model):
    X = table(12, 1)[0]
    found = model.diagnostics_, model.influence(X), model.decompose(X)
    heads = ("R-hat", "noise reaches", "epistemic")
    for value, head in zip(found, heads, strict=True):
        page = parsed(value._repr_html_())
        assert not page.broken
        assert head in page.text
        assert EVIL not in value._repr_html_()
        plain = repr(value)
        assert head in plain
        assert "array(" not in plain
        assert 3 < len(plain.splitlines()) <= 14
        assert max(map(len, plain.splitlines()[1:])) < 200
    assert found[0].verdict in repr(found[0])
    assert found[0].advice in repr(found[0])
    assert found[0].worst(1)[0] in repr(found[0]).splitlines()[2]
    share = found[2].epistemic[0] / (found[2].epistemic[0] + found[2].aleatoric[0])
    first = repr(found[2]).splitlines()[2]
    assert first.startswith("1 ")
    assert f"{100 * share:.1f} %" in first


class Handle:
    def __init__(self):
        self.shown = []

    def update(self, content):
        self.shown.append(content)


@pytest.fixture
def kernel(monkeypatch):
    """IPython as it is inside a notebook; what it displays."""
    handle = Handle()

    def display(content, display_id):
        assert display_id
        handle.shown.append(content)
        return handle

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    displays = SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    return handle


def test_a_bar_in_a_notebook(kernel, capsys):
    assert in_notebook()
    with reporting(None) as report:
        report(40, 100, None)
        report(100, 100, None)
    assert [line.split("value=")[1][:5] for line in kernel.shown] == ['"0" m', '"40" ', '"100"']
    assert "compiling" in kernel.shown[0]
    assert "100/100 sweeps" in kernel.shown[-1]
    assert capsys.readouterr().err == ""


def test_no_bar_where_it_is_refused(kernel):
    with reporting(False) as report:
        assert report is None
    assert kernel.shown == []


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: object()))
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()
