"""Every command of the pages that people copy from is run by a test, or it is said why not."""

import re

import pytest

from tests.repo.commands import COMMANDS, PAGES, Runs, commands, page
from tools.generate import ROOT


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_is_in_the_table(name):
    """A new one needs a test that runs it, or a reason."""
    assert [one for one in commands(page(name)) if one not in COMMANDS] == []


def test_every_command_of_the_table_is_on_a_page():
    """What no page has any more is not in the table."""
    there = {one for name in PAGES for one in commands(page(name))}

    assert sorted(COMMANDS.keys() - there) == []


@pytest.mark.parametrize(
    "test", sorted({one.test for one in COMMANDS.values() if isinstance(one, Runs)})
)
def test_the_tests_that_run_them_are_there(test):
    """The file has a test of that name."""
    path, _, name = test.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")

    assert re.search(rf"(?m)^(?:async )?def {name}\(", text)


def test_what_a_command_is():
    """Lines of blocks, continued ones as one; spans with an argument; no other language."""
    text = (
        "Use `gsched jobs -A` and `gsched`.\n```\nmake demo    # a word\nnothing\n"
        "kubectl get \\\n  pods\n```\n```yaml\nmake: it\nmake no\n```\n```bash\nA=b make e2e\n```\n"
    )

    assert commands(text) == ["gsched jobs -A", "make demo", "kubectl get pods", "A=b make e2e"]
