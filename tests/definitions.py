"""The CustomResourceDefinitions of crds/, read once per process."""

from functools import cache
from pathlib import Path
from typing import Any

from global_sched.shared.api import yaml_text

CRDS = Path(__file__).parents[1] / "crds"


@cache
def crds(pattern: str = "*.yaml") -> tuple[Any, ...]:
    """Those whose file names match, in their order; servers copy what they are given."""
    return tuple(yaml_text.read(path.read_text("utf-8")) for path in sorted(CRDS.glob(pattern)))
