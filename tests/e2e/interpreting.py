"""Karmada's own runner of interpreter customizations, on the files that deploy/ ships."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

Obj = dict[str, Any]
FOLDER: Final = Path(__file__).parents[2] / "deploy" / "interpreter"


class Interpreter:
    """`karmadactl interpret` on one customization; objects in, the answers by name out."""

    def __init__(self, karmadactl: Callable[..., str], folder: Path, customization: str) -> None:
        self._karmadactl = karmadactl
        self._folder = folder
        self._file = FOLDER / customization

    def __call__(self, operation: str, **given: Any) -> Any:
        """The only answer of an operation.

        given: `observed`, `desired` (objects) and `status` (items), as the command has them.
        """
        flags = []
        for name, value in given.items():
            path = self._folder / f"{operation}-{name}.yaml"
            documents = value if isinstance(value, list) else [value]
            path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
            flags += [f"--{name}-file", str(path)]
        text = self._karmadactl(
            "interpret", "-f", str(self._file), "--operation", operation, *flags
        )
        (answer,) = yaml.safe_load_all(text)
        return answer

    def check(self) -> Mapping[str, str]:
        """What Karmada says of each script: PASS, UNSET, or what is wrong."""
        text = self._karmadactl("interpret", "-f", str(self._file), "--check")
        lines = (line.split() for line in text.splitlines())
        return {one[0].rstrip(":"): " ".join(one[1:]) for one in lines if len(one) > 1}
