"""`make release`: what it makes, what it says, and when it makes nothing."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tools.release import (
    ROOT,
    ReleaseError,
    charts,
    make,
    notes_of,
    packed_chart,
    summary,
    version_of,
)

CHANGELOG = """\
# Changelog

## [Unreleased]

- not yet

## [0.2.0] - 2026-12-01

- the second

## [0.1.0] - 2026-11-25

- the first
"""


@pytest.mark.parametrize(
    ("version", "want"),
    [
        pytest.param("0.2.0", "# global-sched 0.2.0\n\n- the second\n", id="between two others"),
        pytest.param("0.1.0", "# global-sched 0.1.0\n\n- the first\n", id="the last one"),
    ],
)
def test_the_notes_are_the_versions_part_of_the_changelog(version, want):
    """Without its heading, which the page has already."""
    assert notes_of(CHANGELOG, version) == want


def test_no_notes_no_release():
    """A version that the changelog does not know is refused, with the heading that is missing."""
    with pytest.raises(ReleaseError, match=r"no part '## \[0.3.0\]'"):
        notes_of(CHANGELOG, "0.3.0")


def test_a_chart_is_packed_as_helm_packs_it():
    """One folder of the chart's name; the same files give the same bytes."""
    chart = charts(ROOT)[0]

    packed = packed_chart(chart, 7)

    assert packed == packed_chart(chart, 7)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        names = archive.getnames()
        info = archive.extractfile(f"{chart.name}/Chart.yaml")
        assert info is not None
        assert info.read() == (chart / "Chart.yaml").read_bytes()
    assert {name.split("/")[0] for name in names} == {chart.name}
    assert len(names) == sum(1 for path in chart.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_release_and_what_would_be_published(tmp_path):
    """Wheel, sdist, a file per chart, notes and checksums; each is named with where it would go."""
    version, parts = make(ROOT, tmp_path)
    said = "\n".join(summary(ROOT, version, parts))

    assert version == version_of(ROOT)
    assert sorted(one.file.name for one in parts) == sorted(
        [
            f"global_sched-{version}-py3-none-any.whl",
            f"global_sched-{version}.tar.gz",
            *(f"{chart.name}-{version}.tgz" for chart in charts(ROOT)),
            "NOTES.md",
            "SHA256SUMS",
        ]
    )
    assert all(one.file.name in said for one in parts)
    assert f"would be tagged: v{version}" in said
    assert said.endswith("nothing was published")
    for line in (tmp_path / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256(Path(tmp_path, name).read_bytes()).hexdigest() == digest
