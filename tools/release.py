"""`make release`: everything of a release below dist/, and what would be published where.

Nothing leaves this machine. The wheel and the sdist come from hatchling, a chart is packed as
`helm package` packs it, the notes are the version's part of CHANGELOG.md. Files that are packed
here have the time of the last commit, so that one commit gives one checksum.
"""

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
IMAGE = "global-sched"
SUMS = "SHA256SUMS"
NOTES = "NOTES.md"


class ReleaseError(Exception):
    """A release cannot be made; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of the release, and where it would go."""

    file: Path
    where: str


def version_of(root: Path) -> str:
    """The version of the project.

    Raises:  ReleaseError for a file that names another one.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version: str = project["version"]
    for chart in charts(root):
        meta = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
        if {meta["version"], meta["appVersion"]} != {version}:
            raise ReleaseError(f"{chart.name}/Chart.yaml: version is not {version}")
    for path in sorted((root / "deploy").rglob("*.y*ml")):
        for found in re.findall(rf"image: {IMAGE}:(\S+)", path.read_text(encoding="utf-8")):
            if found != version and "charts" not in path.parts:
                raise ReleaseError(f"{path.relative_to(root)}: image has {found}, not {version}")
    return version


def charts(root: Path) -> list[Path]:
    """The folders of the charts."""
    return sorted(path.parent for path in (root / "deploy/charts").glob("*/Chart.yaml"))


def notes_of(changelog: str, version: str) -> str:
    """The part of a changelog about a version.

    Raises:  ReleaseError when there is none.
    """
    parts = re.split(r"(?m)^## \[", changelog)
    for part in parts[1:]:
        if part.startswith(f"{version}]"):
            return f"# global-sched {version}\n\n{part.partition(chr(10))[2].strip()}\n"
    raise ReleaseError(f"CHANGELOG.md has no part '## [{version}]': what would the notes say?")


def packed_chart(chart: Path, at: int) -> bytes:
    """A chart as an archive whose bytes depend on its files and the time only."""
    data = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=data, mode="wb", mtime=at) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for path in sorted(one for one in chart.rglob("*") if one.is_file()):
            content = path.read_bytes()
            info = tarfile.TarInfo(f"{chart.name}/{path.relative_to(chart).as_posix()}")
            info.size, info.mtime, info.mode = len(content), at, 0o644
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def make(root: Path, folder: Path) -> tuple[str, list[Part]]:
    """Write the release below a folder: its version and its parts.

    Raises:  ReleaseError before anything is written.
    """
    version = version_of(root)
    notes = notes_of((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    at = int(_git(root, "log", "-1", "--format=%ct") or 0)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (one for one in folder.iterdir() if one.is_file()):
        old.unlink()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve())],
        cwd=root,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(at)},
        check=True,
        capture_output=True,
    )
    parts = [Part(file=one, where="PyPI") for one in sorted(folder.glob("global_sched-*"))]
    for chart in charts(root):
        file = folder / f"{chart.name}-{version}.tgz"
        file.write_bytes(packed_chart(chart, at))
        parts.append(Part(file=file, where="the registry of the charts, and the release's page"))
    (folder / NOTES).write_text(notes, encoding="utf-8")
    sums = "".join(f"{_digest(one.file)}  {one.file.name}\n" for one in parts)
    (folder / SUMS).write_text(sums, encoding="utf-8")
    page = [Part(file=folder / name, where="the release's page") for name in (NOTES, SUMS)]
    return version, [*parts, *page]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def summary(root: Path, version: str, parts: Sequence[Part]) -> Iterator[str]:
    """What was made, and what would be published where."""
    commit, changed = _git(root, "rev-parse", "--short", "HEAD"), _git(root, "status", "--short")
    yield f"global-sched {version}, from commit {commit or 'unknown'}"
    if changed:
        count = len(changed.splitlines())
        yield f"not as committed: {count} files differ; commit them before anything is published"
    yield ""
    for one in parts:
        size = one.file.stat().st_size / 1024
        yield f"{size:8,.0f} KiB  {one.file.name:<42}  would go to {one.where}"
    yield ""
    yield f"would be tagged: v{version}"
    yield (
        f"would be built and pushed: REGISTRY/{IMAGE}:{version} "
        f"(podman build -f deploy/images/Containerfile -t REGISTRY/{IMAGE}:{version} .)"
    )
    yield "nothing was published"


def main() -> int:
    """Make it, and say what it is; the exit code."""
    folder = ROOT / "dist"
    try:
        version, parts = make(ROOT, folder)
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"no release: {error.stderr.decode().strip()}", file=sys.stderr)
        return 1
    print("\n".join(summary(ROOT, version, parts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
