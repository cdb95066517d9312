"""docs/limits.md is read to its end: about twenty limits, under headings, in few words."""

import re

from tools.generate import ROOT

TEXT = (ROOT / "docs/limits.md").read_text(encoding="utf-8")


def test_limits_are_few_and_short():
    """What is finer stands with its subject, under Known gaps."""
    limits = re.findall(r"(?m)^- \*\*", TEXT)
    headings = re.findall(r"(?m)^## ", TEXT)

    assert len(TEXT.split()) <= 1300
    assert 15 <= len(limits) <= 28
    assert len(headings) >= 4
    assert not re.findall(r"(?m)^- (?!\*\*)", TEXT)
