"""The pages are readable: short sentences, plain words, described pictures, links that lead."""

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted(DOCS.rglob("*.md")))]
PROSE = [page for page in PAGES if not page.startswith("docs/reference/")]
MOST_WORDS = 2500
MEDIAN_WORDS = 20
# Constructions that only we understand, and words that sell.
BANNED = {
    "of before": r"\bof before\b",
    "a fit, as a rate": r"\d\s*(?:s|ms|seconds|minutes|GB|MB)\s+an? (?:fit|sweep|step|row|chain)\b",
    "a row, as a rate": r"\b(?:one|nats|components|draws|paths|bytes) an? (?:row|chain|draw|fit)\b",
    "what was seen": r"\bwhat was seen\b",
    "said so": r"\bsaid so\b",
    "made again": r"\bmade again\b",
    "the draws'": r"\bthe draws[’'] ",
    "it is of": r"\b(?:it is|they are|these are|those are) of (?:the|an?|earlier)\b",
    "marketing": r"\b(?:powerful|seamless\w*|robust|leverag\w+|cutting-edge|state-of-the-art)\b",
    "a sentence that begins with a number": r"(?<=[.!?] )\d[\d,.]* [a-z]",
    "nested parentheses": r"\([^()]*\([^()]*\)[^()]*\)",
}
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<target>[^)\s]+)[^)]*\)")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\((?P<target>[^)\s]+)[^)]*\)")


def text_of(page: str) -> str:
    """The page without its code and its front matter."""
    text = re.sub(r"\A---\n.*?^---\n", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S)
    return FENCE.sub("", text)


def prose(text: str) -> str:
    """Running text: no headings, tables, pictures or markup."""
    text = re.sub(r"<!--.*?-->|<[^>]+>", " ", text, flags=re.DOTALL)
    text = IMAGE.sub(" ", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\{[^}]*\}", " ", text)
    lines = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(("#", "|", ":::", "!!!", "options:", "members:", "inherited")):
            bare = ""
        # A point of a list is a sentence of its own, whether or not it ends with a full stop.
        lines.append(re.sub(r"^(?:[-*+]|\d+\.) ", "\n\n", bare))
    return re.sub(r"[*_]{1,2}(\S)|(\S)[*_]{1,2}(?!\w)", r"\1\2", "\n".join(lines))


def sentences(text: str) -> list[str]:
    found = []
    for paragraph in re.split(r"\n\s*\n", re.sub(r"`[^`]*`", "code", prose(text))):
        joined = " ".join(paragraph.split())
        found += [part for part in re.split(r"(?<=[.!?:])\s+(?=[A-Z\"“(P])", joined) if part]
    return [part for part in found if len(part.split()) > 2]


def test_sentences_are_found():
    page = (
        "# Head\n\nOne two three. Four `a. b` five six!\n\n- a list point here\n- and one there\n"
    )
    assert [len(s.split()) for s in sentences(page)] == [3, 4, 4, 3]
    assert "one two" in prose("[one](a.md) two\n\n| a | b |\n")


@pytest.mark.parametrize("page", PROSE)
def test_pages_are_short_and_sentences_too(page):
    text = text_of(page)
    count = len(prose(text).split())
    assert count <= MOST_WORDS, f"{count} words"
    lengths = sorted(((len(s.split()), s) for s in sentences(text)), reverse=True)
    assert median(n for n, _ in lengths) < MEDIAN_WORDS, lengths[:3]


@pytest.mark.parametrize("page", PROSE)
def test_no_private_shorthand(page):
    found = []
    for paragraph in re.split(r"\n\s*\n", re.sub(r"`[^`]*`", "code", prose(text_of(page)))):
        joined = " ".join(paragraph.split())
        found += [
            f"{name}: {match[0]!r} in {joined[max(0, match.start() - 40) : match.end() + 40]!r}"
            for name, pattern in BANNED.items()
            for match in re.finditer(pattern, joined)
        ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES)
def test_pictures_have_words_and_links_lead_somewhere(page):
    text, folder = text_of(page), (ROOT / page).parent
    for picture in IMAGE.finditer(text):
        assert len(picture["alt"].split()) >= 3, f"{picture['target']} needs a description"
        assert (folder / picture["target"]).is_file(), picture["target"]
    assert "<img" not in text
    for link in LINK.finditer(text):
        target, _, anchor = link["target"].partition("#")
        if re.match(r"\w+:", target):
            continue
        path = (folder / target) if target else ROOT / page
        assert path.is_file(), link["target"]
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), link["target"]


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", head.lower()).strip() for head in heads)
    return {re.sub(r"[\s]+", "-", head) for head in words}


def test_tables_have_at_most_seven_columns():
    wide = [
        f"{page}: {line}"
        for page in PROSE
        for line in text_of(page).splitlines()
        if re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line.strip()) and line.count("|") > 8
    ]
    assert not wide, wide
