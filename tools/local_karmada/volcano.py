"""Volcano's own programs, where they are provided: they are in no module registry.

`VOLCANO_BIN=FOLDER` or PATH is looked at for `vc-controller-manager`, `vc-scheduler` and
`volcano-global-controller-manager`; `VOLCANO_CRDS=FOLDER` names a folder with Volcano's CRDs,
which replace ours. docs/real-karmada.md says which flags and traps this mode has.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.local_karmada import objects
from tools.local_karmada.errors import LocalError
from tools.local_karmada.identities import ADMIN
from tools.local_karmada.ledger import Program
from tools.local_karmada.servers import CONTROL_PLANE, Site

Obj = dict[str, Any]
CONTROLLERS: Final = "vc-controller-manager"
SCHEDULER: Final = "vc-scheduler"
GLOBAL: Final = "volcano-global-controller-manager"
_SILENT_WITHOUT: Final = ("jobflows.flow.volcano.sh", "jobtemplates.flow.volcano.sh")
"""Without these kinds vc-controller-manager does nothing at all, and says no word on any Job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volcano:
    """What of Volcano was found on this machine."""

    programs: dict[str, Path]
    definitions: Path | None

    @property
    def runs_jobs(self) -> bool:
        """Whether Volcano's controller can run Jobs: the agent then leaves them to it."""
        return CONTROLLERS in self.programs and self.definitions is not None

    @property
    def binds(self) -> bool:
        """Whether Volcano's scheduler can bind pods."""
        return SCHEDULER in self.programs and self.runs_jobs

    def missing(self) -> str:
        """Why tests of Volcano do not run here; empty when they do."""
        if self.binds:
            return ""
        lacking = [one for one in (CONTROLLERS, SCHEDULER) if one not in self.programs]
        if self.definitions is None:
            lacking.append("the CRDs (VOLCANO_CRDS)")
        return f"Volcano is not here: {', '.join(lacking)} not found; set VOLCANO_BIN and PATH"


def find() -> Volcano:
    """What VOLCANO_BIN, PATH and VOLCANO_CRDS hold.

    Raises:  LocalError when a setting names something that is not there.
    """
    folder = os.environ.get("VOLCANO_BIN")
    if folder and not Path(folder).is_dir():
        raise LocalError(f"VOLCANO_BIN={folder} is not a folder")
    definitions = os.environ.get("VOLCANO_CRDS")
    if definitions and not Path(definitions).is_dir():
        raise LocalError(f"VOLCANO_CRDS={definitions} is not a folder")
    path = os.pathsep.join(part for part in (folder, os.environ.get("PATH")) if part)
    found = {one: shutil.which(one, path=path) for one in (CONTROLLERS, SCHEDULER, GLOBAL)}
    return Volcano(
        programs={name: Path(where) for name, where in found.items() if where},
        definitions=Path(definitions) if definitions else None,
    )


async def define(site: Site, server: str, volcano: Volcano) -> None:
    """Volcano's own kinds over ours.

    Raises:  LocalError when one is missing without which its controller is silent.
    """
    assert volcano.definitions is not None
    found = [
        obj
        for path in sorted(volcano.definitions.glob("*.yaml"))
        for obj in objects.read(path)
        if obj.get("kind") == "CustomResourceDefinition"
    ]
    names = {one["metadata"]["name"] for one in found}
    for needed in _SILENT_WITHOUT:
        if needed not in names:
            raise LocalError(
                f"{volcano.definitions} has no {needed}: without it vc-controller-manager does "
                "nothing and does not say so"
            )
    await objects.define(site, server, found)
    queue: Obj = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"weight": 1},
    }
    await objects.apply(site, server, [queue])


def programs_of(site: Site, member: str, volcano: Volcano) -> list[Program]:
    """Volcano's programs of one member, with the limits of their clients lifted."""
    found = []
    shared = (
        f"--kubeconfig={site.kubeconfig(member, ADMIN)}",
        "--leader-elect=false",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
    )
    for name in (CONTROLLERS, SCHEDULER):
        if name not in volcano.programs or not volcano.runs_jobs:
            continue
        port = site.ledger.port(f"{member}/{name}")
        argv = (
            str(volcano.programs[name]),
            *shared,
            "--enable-healthz=true",
            f"--healthz-address=127.0.0.1:{port}",
        )
        found.append(
            Program(
                name=f"{member}/{name}",
                argv=argv,
                log=site.ledger.log(f"{member}/{name}"),
                health=f"http://127.0.0.1:{port}/healthz",
            )
        )
    return found


def global_program(site: Site, volcano: Volcano) -> Program | None:
    """volcano-global's controller manager on the control plane, if it is here."""
    if GLOBAL not in volcano.programs:
        return None
    own = site.kubeconfig(CONTROL_PLANE, ADMIN)
    argv = (str(volcano.programs[GLOBAL]), f"--kubeconfig={own}", "--leader-elect=false")
    return Program(name=GLOBAL, argv=argv, log=site.ledger.log(GLOBAL))
