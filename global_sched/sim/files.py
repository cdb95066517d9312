"""Files of an experiment: beside it, or in the folder of large traces."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from global_sched.sim.errors import SimulationError, TraceAbsentError

LARGE: Final = "traces/"
"""A path that begins so is in the folder of large traces, which is not in the repository."""
TRACES: Final = Path(__file__).parents[3] / "shared" / "traces"


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads files beside an experiment; `given` has the text of some that were read already."""

    folder: Path
    given: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """The text of a file, unpacked where it ends in `.gz`. Raises SimulationError."""
        if name in self.given:
            return self.given[name]
        large = name.startswith(LARGE)
        path = TRACES / name.removeprefix(LARGE) if large else self.folder / name
        try:
            raw = path.read_bytes()
            return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        except FileNotFoundError as error:
            if large:
                raise TraceAbsentError(
                    f"{name}: this large trace is not in the repository; it is read from "
                    "../shared/traces beside a checkout. Nothing smaller is run in its place"
                ) from error
            raise SimulationError(f"{name}: there is no such file beside the experiment") from error
        except (OSError, UnicodeDecodeError, EOFError) as error:
            raise SimulationError(f"{name}: cannot be read: {error}") from error
