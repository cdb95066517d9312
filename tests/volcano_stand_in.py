"""Stand-ins for Volcano's programs: real processes that write their flags down and are healthy.

Volcano itself cannot be had as a package. What can be tested without it is everything on our side:
what is found, how it is started, and what is left to it.
"""

import json
import shlex
import sys
from pathlib import Path

import yaml

PROGRAM = """
import http.server, json, pathlib, signal, sys

name, flags = sys.argv[1], sys.argv[2:]
record = pathlib.Path(__file__).with_name("started.jsonl")
with record.open("a") as file:
    file.write(json.dumps([name, flags]) + "\\n")
given = dict(one.partition("=")[::2] for one in flags)
address = given.get("--healthz-address")
if address is None:
    signal.pause()
host, _, port = address.partition(":")


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        works = self.path == "/healthz" and given.get("--enable-healthz") == "true"
        self.send_response(200 if works else 404)
        self.end_headers()


http.server.HTTPServer((host, int(port)), Page).serve_forever()
"""


def programs(folder: Path, *names: str) -> Path:
    """A folder of programs with these names."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "stand_in.py"
    script.write_text(PROGRAM)
    for name in names:
        words = shlex.join([sys.executable, str(script), name])
        (folder / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def started(folder: Path) -> list[tuple[str, list[str]]]:
    """Name and flags of every program of the folder that was started, in that order."""
    record = folder / "started.jsonl"
    lines = record.read_text().splitlines() if record.is_file() else []
    return [(name, flags) for name, flags in map(json.loads, lines)]


def definitions(folder: Path, *names: str) -> Path:
    """A folder of CRDs that take any object; each name is `plural.group`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        plural, _, group = name.partition(".")
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1alpha1", "served": True, "storage": True}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": plural, "kind": plural.removesuffix("s").capitalize()},
                "versions": [version | {"schema": {"openAPIV3Schema": anything}}],
            },
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(definition))
    return folder
