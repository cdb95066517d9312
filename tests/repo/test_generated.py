"""Generated files are what the code would generate now."""

import pytest

from tools.generate import ROOT, TARGETS, outdated


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_generated_files_are_up_to_date(name):
    """`make gen` would change nothing: no file differs, none is missing, none is left over."""
    changes = [path.relative_to(ROOT) for path, _ in outdated(ROOT, {name: TARGETS[name]})]

    assert changes == []


def test_a_leftover_file_is_noticed(tmp_path):
    """A file that a target owns but no longer writes is to be removed."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "old.yaml").write_text("", encoding="utf-8")

    changes = dict(outdated(tmp_path, {"crds": TARGETS["crds"]}))

    assert changes[tmp_path / "crds" / "old.yaml"] is None
    assert len(changes) == len(TARGETS["crds"].texts()) + 1
