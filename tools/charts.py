"""The templates of the Helm charts, made from the manifests of deploy/.

The manifests are the one source: a template is the text of a manifest in which some words became
expressions and some documents depend on a value. Written by hand in a chart are Chart.yaml,
values.yaml with its schema, and NOTES.txt. `tools.chart_table` says what becomes what.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[1]
HEADER: Final = "{{- /* Generated from %s by `make gen`; do not edit. */ -}}\n"
LABELS: Final = (
    "\n  labels: {helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}, "
    "app.kubernetes.io/managed-by: {{ .Release.Service }}, "
)
"""What Helm's charts say of each object; the manifest's own labels follow."""
NEVER: Final = "false"
"""The condition of a document that a chart leaves out."""


class ChartError(ValueError):
    """The table asks for something that a manifest does not have (any more)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One template: its manifest, what is replaced in it, and when it is there.

    words: texts, and the expressions in their place. lines: keys whose whole value, on the same
    line, becomes an expression. documents: conditions by `Kind/name`. when: the condition for all
    of it. each: the list that all of it is repeated over, as `$item`.
    """

    source: str
    words: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    when: str = ""
    each: str = ""


def render(
    template: Template, root: Path = ROOT, generated: Mapping[str, str] | None = None
) -> str:
    """The text of a template.

    generated: manifests by path that are themselves generated, so that one run suffices.
    Raises:    ChartError for a word, line or document that is not in the manifest.
    """
    text = (generated or {}).get(template.source)
    if text is None:
        text = (root / template.source).read_text(encoding="utf-8")
    parts = [_document(part, template) for part in text.split("\n---\n")]
    _all_found(text, template)
    body = "".join(f"---\n{part.strip()}\n" for part in parts if part)
    if template.each:
        body = f"{{{{- range $item := {template.each} }}}}\n{body}{{{{- end }}}}\n"
    if template.when:
        body = _if(template.when, body)
    return HEADER % template.source + body


def _document(text: str, template: Template) -> str:
    """One document with its expressions; empty when the chart leaves it out."""
    found = yaml.safe_load(text)
    if found is None:  # only a comment
        return ""
    condition = template.documents.get(f"{found['kind']}/{found['metadata']['name']}", "")
    if condition == NEVER:
        return ""
    literal = text.replace("{{", '{{ "{{" }}')
    lines = [_line(line, template.lines) for line in literal.splitlines()]
    done = "\n".join(lines)
    for word, expression in template.words.items():
        done = done.replace(word, expression)
    done = done.replace("\n  labels: {", LABELS)
    return _if(condition, done + "\n") if condition else done


def _line(line: str, wanted: Mapping[str, str]) -> str:
    """A line; with a wanted key, the expression is its value."""
    key, colon, _ = line.lstrip(" -").partition(": ")
    if not colon or key not in wanted:
        return line
    return f"{line[: line.index(key)]}{key}: {wanted[key]}"


def _if(condition: str, body: str) -> str:
    return f"{{{{- if {condition} }}}}\n{body}{{{{- end }}}}\n"


def _all_found(text: str, template: Template) -> None:
    keys = {line.lstrip(" -").partition(": ")[0] for line in text.splitlines()}
    objects = [one for one in yaml.safe_load_all(text) if one]
    names = {f"{one['kind']}/{one['metadata']['name']}" for one in objects}
    missing = [
        *(repr(word) for word in template.words if word not in text),
        *(f"the line {key}" for key in template.lines if key not in keys),
        *(name for name in template.documents if name not in names),
    ]
    if missing:
        raise ChartError(f"{template.source} has no {', '.join(missing)}")
