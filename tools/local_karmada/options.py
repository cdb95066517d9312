"""Options of one local federation."""

import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from tools.local_karmada.errors import LocalError
from tools.local_karmada.tools import KARMADA_VERSIONS

ROOT: Final = Path(__file__).parents[2]
DEMO: Final = ROOT / "examples" / "demo.yaml"


def default_state() -> Path:
    """`$XDG_STATE_HOME/global-sched/karmada`, usually below `~/.local/state`."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "global-sched" / "karmada"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One federation.

    members: how many; the first ones are the clusters of `scenario`, more have two racks of four
    nodes and are called `member4`, `member5` and so on.
    karmada: its version. first_port: ports are counted from it; 0 takes free ones.
    failover: Karmada moves work away from a member with a NoExecute taint or one that is not
    reachable, and all its times are short.
    karmada_scheduler, descheduler: whether these run too; the descheduler brings an estimator per
    member.
    controller_flags: more flags for karmada-controller-manager; a later one wins.
    """

    members: int = 3
    karmada: str = KARMADA_VERSIONS[0]
    scenario: str = str(DEMO)
    first_port: int = 0
    failover: bool = False
    karmada_scheduler: bool = True
    descheduler: bool = False
    controller_flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises LocalError for what cannot be started."""
        if not 1 <= self.members <= 20:
            raise LocalError(f"MEMBERS={self.members}: use 1 to 20")
        if self.karmada not in KARMADA_VERSIONS:
            known = " or ".join(KARMADA_VERSIONS)
            raise LocalError(f"KARMADA={self.karmada}: use {known}")
        if self.first_port and not 1024 <= self.first_port <= 65000:
            raise LocalError(f"first port {self.first_port}: use 1024 to 65000, or 0 for free ones")
        if not Path(self.scenario).is_file():
            raise LocalError(f"{self.scenario} is not there: name a scenario file with clusters")

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"controller_flags": list(self.controller_flags)}

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Options":
        """From JSON; what another version of this program wrote there is left out."""
        known = {one.name for one in fields(cls)}
        given = {key: value for key, value in plain.items() if key in known}
        given["controller_flags"] = tuple(given.get("controller_flags") or ())
        return cls(**given)
