"""Write the embedded server's table of built-in types from the Go modules that define them.

Reads the field lists (names, types, tags, list markers: facts, no prose) of k8s.io/api,
k8s.io/apimachinery and k8s.io/apiextensions-apiserver in a Go module cache, and writes
`global_sched/embedded/apiserver/data/types.json`:

    python tools/gen_kube_types.py ~/go/pkg/mod/k8s.io 0.35.4
"""

import json
import re
import sys
from pathlib import Path

OUT = Path(__file__).parents[1] / "global_sched/embedded/apiserver/data/types.json"

PACKAGES = {
    "meta/v1": "apimachinery@v{}/pkg/apis/meta/v1",
    "apiextensions/v1": "apiextensions-apiserver@v{}/pkg/apis/apiextensions/v1",
    "apiregistration/v1": "kube-aggregator@v{}/pkg/apis/apiregistration/v1",
    **{
        name: f"api@v{{}}/{name}"
        for name in (
            "core/v1",
            "apps/v1",
            "batch/v1",
            "autoscaling/v1",
            "autoscaling/v2",
            "coordination/v1",
            "discovery/v1",
            "events/v1",
            "policy/v1",
            "rbac/v1",
            "scheduling/v1",
            "storage/v1",
            "networking/v1",
            "node/v1",
            "authentication/v1",
            "authorization/v1",
            "admissionregistration/v1",
        )
    },
}
SCALARS = {
    "string": "s",
    "bool": "b",
    "int": "i",
    "int32": "i",
    "int64": "l",
    "uint32": "i",
    "float64": "f",
    "[]byte": "B",
    "types.UID": "s",
    "interface{}": "R",
    "resource.Quantity": "q",
    "intstr.IntOrString": "I",
    "runtime.RawExtension": "R",
    "runtime.Object": "R",
}
SPECIAL = {
    "meta/v1.Time": "t",
    "meta/v1.MicroTime": "m",
    "meta/v1.Duration": "d",
    "meta/v1.FieldsV1": "R",
    "apiextensions/v1.JSON": "R",
    "apiextensions/v1.JSONSchemaPropsOrArray": "R",
    "apiextensions/v1.JSONSchemaPropsOrBool": "R",
    "apiextensions/v1.JSONSchemaPropsOrStringArray": "R",
    "core/v1.Quantity": "q",
}
ALIASES = {"metav1": "meta/v1", "v1": "core/v1", "corev1": "core/v1", "apiv1": "core/v1"}
TYPE = re.compile(r"^type (\w+) (struct \{|.+)$")
FIELD = re.compile(r"^\t(?:(\w+) +)?(\S.*?)\s+`(.*)`")
TAG = re.compile(r'(\w+):"([^"]*)"')


class Reader:
    """Collects structs and named types over all packages, then resolves names."""

    def __init__(self) -> None:
        self.structs: dict[str, list[dict[str, object]]] = {}
        self.named: dict[str, str] = {}
        self.markers: dict[str, dict[str, str]] = {}

    def read(self, package: str, folder: Path) -> None:
        """Collect one package's types."""
        for path in sorted(folder.glob("*.go")):
            if path.name.endswith("_test.go") or path.name.startswith(("zz_", "generated")):
                continue
            self._read_file(package, path.read_text().splitlines())

    def _read_file(self, package: str, lines: list[str]) -> None:
        struct: str | None = None
        marks: dict[str, str] = {}
        for line in lines:
            text = line.strip()
            if text.startswith("//"):
                found = re.match(r"// ?\+(\w[\w:]*)(?:=(.*))?$", text)
                if found:
                    key, value = found.group(1), found.group(2) or ""
                    if key == "listMapKey" and key in marks:
                        value = f"{marks[key]},{value}"
                    marks[key] = value
                continue
            if struct is None:
                match = TYPE.match(line)
                if match:
                    name = f"{package}.{match.group(1)}"
                    self.markers[name] = marks
                    if match.group(2).startswith("struct"):
                        struct = name if match.group(2) == "struct {" else None
                        self.structs[name] = []
                    elif not match.group(2).startswith(("interface", "func", "(")):
                        self.named[name] = match.group(2).split("//")[0].strip().lstrip("= ")
                marks = {}
                continue
            if line.startswith("}"):
                struct, marks = None, {}
                continue
            match = FIELD.match(line)
            if match:
                tags = dict(TAG.findall(match.group(3)))
                self.structs[struct].append(
                    {"go": match.group(2).strip(), "tags": tags, "marks": marks, "pkg": package}
                )
            if text:
                marks = {}

    def resolve(self, go: str, package: str) -> str:
        """A Go type as the table spells it."""
        if go.startswith("*"):
            return "*" + self.resolve(go[1:], package).lstrip("*")
        if go in SCALARS:
            return SCALARS[go]
        if go.startswith("[]"):
            return "[]" + self.resolve(go[2:], package).lstrip("*")
        if go.startswith("map["):
            return "{}" + self.resolve(go[go.index("]") + 1 :], package).lstrip("*")
        name = f"{package}.{go}"
        if "." in go:
            alias, short = go.split(".", 1)
            name = f"{ALIASES.get(alias, alias)}.{short}"
        if name in SPECIAL:
            return SPECIAL[name]
        if name in self.named:
            return self.resolve(self.named[name], name.rsplit(".", 1)[0])
        if name in self.structs:
            return "@" + name
        raise SystemExit(f"unknown type {go} in {package}")

    def fields(self, struct: str) -> list[list[object]]:
        """The rows of one struct, inlined structs unfolded."""
        rows: list[list[object]] = []
        for field in self.structs[struct]:
            tags, marks, package = field["tags"], field["marks"], field["pkg"]
            json_name, *options = tags.get("json", "").split(",")
            if json_name == "-":
                continue
            number = int([*tags.get("protobuf", ",0").split(","), "0"][1] or 0)
            kind = self.resolve(field["go"], package)
            if not json_name:
                if kind.startswith("@meta/v1.TypeMeta"):
                    continue
                inner = kind.lstrip("*@")
                for row in self.fields(inner):
                    row[3] = [number, *row[3]] if number else row[3]
                    rows.append(row)
                continue
            omit = int("omitempty" in options or "omitzero" in options)
            required = int(not omit and "optional" not in marks)
            target = self.markers.get(kind.split("@")[-1], {})
            row = [json_name, kind, omit, [number], required]
            extra = {
                "ps": tags.get("patchStrategy"),
                "pk": tags.get("patchMergeKey"),
                "lt": marks.get("listType"),
                "lk": marks.get("listMapKey", "").split(",") if "listMapKey" in marks else None,
                "at": marks.get("mapType")
                or marks.get("structType")
                or target.get("structType")
                or target.get("mapType"),
                "z": 1 if "omitzero" in options else None,
            }
            extra = {key: value for key, value in extra.items() if value}
            rows.append([*row, extra] if extra else row)
        return rows


def main() -> None:
    """Read the cache named on the command line and write the table."""
    root, version = Path(sys.argv[1]), sys.argv[2]
    reader = Reader()
    for package, pattern in PACKAGES.items():
        folder = root / pattern.format(version)
        if not folder.is_dir():
            raise SystemExit(f"{folder} is not there: go mod download it first")
        reader.read(package, folder)
    table: dict[str, list[list[object]]] = {}
    todo = [
        name
        for name, rows in reader.structs.items()
        if any(str(row["go"]).endswith("TypeMeta") for row in rows)
    ]
    while todo:
        name = todo.pop()
        if name in table or name in SPECIAL:
            continue
        rows = reader.fields(name)
        if any(row[1] == "@meta/v1.ListMeta" for row in rows):
            continue
        table[name] = rows
        todo += [str(row[1]).split("@")[1] for row in rows if "@" in str(row[1])]
    table = dict(sorted(table.items()))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(
        "{\n"
        + ",\n".join(
            f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in table.items()
        )
        + "\n}\n"
    )
    print(f"{OUT}: {len(table)} types, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
