"""A local page to try things: pick a row, move sliders, watch the predictive density."""
