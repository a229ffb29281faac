"""Render the conda recipe as rattler-build does before it builds: python render_recipe.py VERSION.

It needs py-rattler-build, but neither conda nor a network.  An unknown field or a bad requirement
is an error there.
"""

import sys
from pathlib import Path

from rattler_build import RenderConfig, Stage0Recipe, VariantConfig

RECIPE = Path(__file__).with_name("conda") / "recipe.yaml"

(rendered,) = Stage0Recipe.from_file(RECIPE).render(VariantConfig(), RenderConfig())
package = rendered.recipe.package
assert (package.name, package.version) == ("deepnoise", sys.argv[1]), package
