"""Acts on a job: the fields of its kind that suspend, resume and priority write."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the object.

    `also` are further places of the same value, written where the part around them is there.
    """

    path: Path
    also: tuple[Path, ...] = ()

    def text(self) -> str:
        """`spec.runPolicy.suspend`, `metadata.labels[ray.io/priority-class-name]`."""
        return " and ".join(_text(one) for one in (self.path, *self.also))

    def patch(self, obj: Mapping[str, Any], value: Any) -> dict[str, Any]:
        """The merge patch that sets it in this object."""
        body: dict[str, Any] = {}
        for path in (self.path, *(one for one in self.also if _around(obj, one))):
            here = body
            for name in path[:-1]:
                here = here.setdefault(name, {})
            here[path[-1]] = value
        return body


@dataclass(frozen=True, slots=True)
class Refused:
    """The kind has no field for it, or none that can be changed: why, and what helps."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """Each act: the field that it writes, or why there is none."""

    suspend: Field | Refused
    """A boolean that holds all pods of the object back."""
    priority: Field | Refused
    """The name of a PriorityClass."""

    def rows(self) -> Iterator[tuple[str, Field | Refused]]:
        """Each act by its name."""
        yield "suspend", self.suspend
        yield "priority", self.priority


def _text(path: Path) -> str:
    *above, last = path
    return f"{'.'.join(above)}[{last}]" if "/" in last else ".".join(path)


def _around(obj: Any, path: Path) -> bool:
    """Whether the part that holds the field is in the object."""
    for name in path[:-1]:
        if not isinstance(obj, Mapping) or name not in obj:
            return False
        obj = obj[name]
    return True
