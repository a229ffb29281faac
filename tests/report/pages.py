"""A model with awkward column names, and what a page consists of."""

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from tests.estimators.toy import PLAIN, small

# Markup in every place a user can put a name: columns, levels, the target, the file.
EVIL = "<img src=x onerror=alert(1)>"
NUMBER, TEXT = f"size {EVIL}", f'colour "{EVIL}'
LEVELS = (f"red </title><script>alert(2)</script>{EVIL}", "blue & 'green'")
TARGET = f"y' {EVIL}</svg><script>alert(3)</script>"
SOURCE = f"{EVIL}.csv"
VOID = {"meta", "link", "img", "br", "input", "hr"}


def table(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = rng.normal(10, 2, rows)
    X = pd.DataFrame({NUMBER: size, TEXT: np.array(LEVELS)[np.arange(rows) % 2]})
    return X, 5 * size + rng.normal(size=rows)


def fitted():
    return small(**PLAIN).fit(*table(30, 0))


@dataclass
class Page(HTMLParser):
    """Tags, addresses, ids and texts of a page; ``broken`` names tags that do not match."""

    tags: Counter = field(default_factory=Counter)
    addresses: list = field(default_factory=list)
    handlers: list = field(default_factory=list)
    ids: list = field(default_factory=list)
    targets: list = field(default_factory=list)
    text: str = ""
    broken: list = field(default_factory=list)
    open: list = field(default_factory=list)

    def __post_init__(self):
        HTMLParser.__init__(self)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "srcset"):
                self.addresses.append(value)
            if name.startswith("on"):
                self.handlers.append(name)
            if name == "id":
                self.ids.append(value)
            if name in ("aria-labelledby", "for"):
                self.targets.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.broken.append(tag)

    def handle_data(self, data):
        self.text += data


def parsed(html: str) -> Page:
    page = Page()
    page.feed(html)
    page.close()
    return page
