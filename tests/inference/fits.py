"""A plan and rows in memory, to draws."""

from deepnoise.inference.in_memory import InMemory
from deepnoise.inference.posterior import Posterior, draw_more


def fit(plan, x, y, on_segment=None, devices=1, counted=None) -> Posterior:
    rows = InMemory(plan, x, y, devices, counted)
    return draw_more(rows.begin(), rows, plan.draws, on_segment)


def resume(posterior, x, y, draws, on_segment=None, devices=1) -> Posterior:
    rows = InMemory(posterior.plan, x, y, devices)
    return draw_more(rows.take_up(posterior), rows, draws, on_segment)
