"""Scenarios as YAML suites, with what is at its default left out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tools.scenarios.cases import Case

_ABOUT = (
    "Facts of Volcano's own scheduler tests (Apache-2.0, ed72c7c815a9), one case each. Written by "
    "`python -m tools.scenarios --convert`; where our rule differs on purpose, `differs` says why."
)


class _Dumper(yaml.SafeDumper):
    """Lists of short values in one line, no anchors."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _sequence(dumper: yaml.SafeDumper, value: list[object]) -> yaml.Node:
    flat = all(not isinstance(one, (dict, list)) for one in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=flat)


def _mapping(dumper: yaml.SafeDumper, value: dict[str, object]) -> yaml.Node:
    flat = all(not isinstance(one, (dict, list)) for one in value.values()) and len(value) < 5
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=flat)


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(dict, _mapping)


def write_suites(folder: Path, cases: Iterable[Case]) -> Iterator[Path]:
    """Two files: PodGroups of a member, and jobs of a whole cluster. Cases must be readable."""
    found = [case.scenario for case in cases if case.scenario is not None]
    for name, subject, federation in (
        ("volcano-allocate.yaml", "Volcano's allocation cycles on one cluster", False),
        ("volcano-hypernode.yaml", "Volcano's HyperNode scenarios on a whole cluster", True),
    ):
        chosen = [plain(one) for one in found if one.federation == federation]
        suite = {"suite": subject, "about": _ABOUT, "cases": chosen}
        path = folder / name
        text = yaml.dump(suite, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
        path.write_text(text, encoding="utf-8")
        yield path


def plain(struct: msgspec.Struct) -> dict[str, object]:
    """A part of a scenario as it would be written: without what is at its default."""
    found: dict[str, object] = {}
    for field in msgspec.structs.fields(type(struct)):
        value = getattr(struct, field.name)
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if value != default:
            found[field.encode_name] = _value(value)
    return found


def _value(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        return plain(value)
    if isinstance(value, list):
        return [_value(one) for one in value]
    if isinstance(value, dict):
        return {key: _value(one) for key, one in value.items()}
    return value
