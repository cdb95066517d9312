"""Charts come from the manifests: what becomes an expression is there, or the maker complains."""

import pytest

from global_sched.shared.api import yaml_text
from tools.charts import ROOT, ChartError, Template, render

MANIFEST = """\
# A comment.
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  labels: {app: x}
data: {text: "{{ kept }}", replicas: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
data:
  size: small
"""


@pytest.fixture
def manifest(tmp_path):
    (tmp_path / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")

    def rendered(**more):
        return render(Template(source="manifest.yaml", **more), tmp_path)

    return rendered


def test_a_template_is_the_manifest_with_expressions(manifest):
    """Words and values become expressions; braces that are text stay text."""
    text = manifest(
        words={"name: one": "name: {{ .Values.name }}"}, lines={"size": "{{ .Values.size }}"}
    )

    assert text.startswith("{{- /* Generated from manifest.yaml by `make gen`; do not edit. */ -}}")
    assert "name: {{ .Values.name }}" in text
    assert "  size: {{ .Values.size }}\n" in text
    assert 'text: "{{ "{{" }} kept }}"' in text
    assert "labels: {helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}, " in text


def test_documents_can_depend_on_values(manifest):
    """One of them, all of them, once per item, or never."""
    some = manifest(documents={"ConfigMap/two": ".Values.two", "ConfigMap/one": "false"})
    listed = manifest(when=".Values.on", each=".Values.items")

    assert "name: one" not in some
    assert "{{- if .Values.two }}\napiVersion: v1" in some
    assert listed.splitlines()[1:3] == [
        "{{- if .Values.on }}",
        "{{- range $item := .Values.items }}",
    ]
    assert listed.splitlines()[-2:] == ["{{- end }}", "{{- end }}"]


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ({"words": {"nowhere": "x"}}, "'nowhere'"),
        ({"lines": {"colour": "x"}}, "the line colour"),
        ({"documents": {"ConfigMap/three": "x"}}, "ConfigMap/three"),
    ],
)
def test_what_is_not_in_the_manifest_is_an_error(manifest, more, want):
    """A manifest that changed must not leave a chart with less than it seems to offer."""
    with pytest.raises(ChartError, match=rf"manifest.yaml has no {want}"):
        manifest(**more)


def test_charts_have_the_version_of_the_project():
    """Chart, application and default image are one version."""
    version = next(
        line.split('"')[1]
        for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
        if line.startswith("version = ")
    )
    for chart in sorted((ROOT / "deploy/charts").iterdir()):
        meta = yaml_text.read((chart / "Chart.yaml").read_text(encoding="utf-8"))
        values = yaml_text.read((chart / "values.yaml").read_text(encoding="utf-8"))
        assert meta["name"] == chart.name
        assert (meta["version"], meta["appVersion"]) == (version, version)
        assert values.get("image", {}).get("tag", version) == version
