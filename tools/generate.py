"""Write everything that is generated from the code, or check that it is up to date.

    python -m tools.generate                 # all targets
    python -m tools.generate crds --check    # one target; exit 1 when a file would change

A target is a function from nothing to texts by path (relative to the repository); it also owns
every other file that matches its patterns, so a kind that is gone leaves no file behind.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from global_sched.shared.kinds.crds import CRD_KINDS, crds
from tools.chart_table import OURS, texts
from tools.reference import pages

ROOT = Path(__file__).parents[1]
HEADER = "# Generated from global_sched/shared/api by `make gen`; do not edit.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFiles:
    """A group of generated files: their texts, and which paths belong to it alone."""

    texts: Callable[[], Mapping[str, str]]
    owned: tuple[str, ...]


class _Dumper(yaml.SafeDumper):
    """Block style with list items indented like kubectl's, and no anchors."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(value: object) -> str:
    """A value as YAML, with its keys in their order and multi-line texts as blocks."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


def _crds() -> dict[str, str]:
    return {f"crds/{name}": HEADER + "---\n" + to_yaml(crd) for name, crd in crds().items()}


def _deployed_crds() -> dict[str, str]:
    """Our own kinds once more, where kustomize can read them: it looks at no file above a base."""
    own = [kind.file_name for kind in CRD_KINDS if kind.resource.group == OURS]
    base = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "metadata": {"name": "global-sched-crds"},
        "resources": own,
    }
    found = _crds()
    copies = {f"deploy/crds/{name}": found[f"crds/{name}"] for name in own}
    return copies | {"deploy/crds/kustomization.yaml": HEADER + to_yaml(base)}


TARGETS: dict[str, GeneratedFiles] = {
    "crds": GeneratedFiles(texts=_crds, owned=("crds/*.yaml",)),
    "deploy-crds": GeneratedFiles(texts=_deployed_crds, owned=("deploy/crds/*.yaml",)),
    "charts": GeneratedFiles(
        texts=lambda: texts(_crds()), owned=("deploy/charts/*/templates/*.yaml",)
    ),
    "reference": GeneratedFiles(texts=pages, owned=("docs/reference/*.md", "docs/kinds.md")),
}


def outdated(
    root: Path, targets: Mapping[str, GeneratedFiles]
) -> Iterator[tuple[Path, str | None]]:
    """Files that differ from what would be generated: path and new text (None: to be removed)."""
    for target in targets.values():
        texts = target.texts()
        for name, text in texts.items():
            path = root / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                yield path, text
        for pattern in target.owned:
            for path in sorted(root.glob(pattern)):
                if path.relative_to(root).as_posix() not in texts:
                    yield path, None


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(sorted(TARGETS)))
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file would change.")
def main(names: tuple[str, ...], *, check: bool) -> None:
    """Generate the named targets, all when none is named."""
    chosen = {name: TARGETS[name] for name in names or TARGETS}
    changes = list(outdated(ROOT, chosen))
    for path, text in changes:
        shown = path.relative_to(ROOT)
        if check:
            click.echo(f"{shown} is not up to date: run `make gen`", err=True)
        elif text is None:
            path.unlink()
            click.echo(f"removed {shown}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            click.echo(f"wrote {shown}")
    if check and changes:
        sys.exit(1)


if __name__ == "__main__":
    main()
