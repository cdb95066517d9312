"""Files that come with the program: examples, kinds (CRDs), manifests and charts.

A wheel has them inside of the package; in a checkout they are what stands beside it.
"""

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parents[1]
PACKAGED: Final = _PACKAGE / "assets"
"""Where a wheel has them (`pyproject.toml`); not there in a checkout."""


def asset(name: str) -> Path:
    """The folder `examples`, `crds` or `deploy`."""
    inside = PACKAGED / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
