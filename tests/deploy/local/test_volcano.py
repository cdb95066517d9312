"""Volcano is used where somebody brings it, and the message says what is missing elsewhere."""

import pytest

from deploy.local import volcano
from deploy.local.errors import LocalError


@pytest.fixture(autouse=True)
def nothing(monkeypatch, tmp_path):
    """A machine without Volcano."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("VOLCANO_BIN", "VOLCANO_CRDS"):
        monkeypatch.delenv(name, raising=False)


def brought(tmp_path, monkeypatch, *names):
    """A folder of programs, and one of CRDs."""
    folder = tmp_path / "volcano"
    (folder / "crds").mkdir(parents=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("VOLCANO_BIN", str(folder))
    monkeypatch.setenv("VOLCANO_CRDS", str(folder / "crds"))
    return folder


def test_it_is_not_here():
    """Every part that lacks is named, with the setting that would bring it."""
    found = volcano.find()
    assert not found.runs_jobs
    assert found.missing() == (
        "Volcano is not here: vc-controller-manager, vc-scheduler, the CRDs (VOLCANO_CRDS) not "
        "found; set VOLCANO_BIN and PATH"
    )


@pytest.mark.parametrize(
    ("names", "runs_jobs", "binds"),
    [
        pytest.param(("vc-controller-manager", "vc-scheduler"), True, True, id="both"),
        pytest.param(("vc-controller-manager",), True, False, id="no scheduler: the agent binds"),
        pytest.param(("vc-scheduler",), False, False, id="no controller: the agent does all"),
    ],
)
def test_what_is_here_decides_who_works(tmp_path, monkeypatch, names, runs_jobs, binds):
    """Jobs go to Volcano's controller where it is, pods to its scheduler where both are."""
    brought(tmp_path, monkeypatch, *names)
    found = volcano.find()
    assert (found.runs_jobs, found.binds) == (runs_jobs, binds)


@pytest.mark.parametrize("name", ["VOLCANO_BIN", "VOLCANO_CRDS"])
def test_a_setting_that_names_nothing(monkeypatch, name):
    """A typing error is said, rather than taken for a machine without Volcano."""
    monkeypatch.setenv(name, "/no/such/folder")
    with pytest.raises(LocalError, match=f"{name}=/no/such/folder is not a folder"):
        volcano.find()


async def test_a_silent_controller_is_refused(tmp_path, monkeypatch):
    """Without JobFlow its controller does nothing and does not say so; we do."""
    folder = brought(tmp_path, monkeypatch, "vc-controller-manager")
    (folder / "crds" / "jobs.yaml").write_text(
        "kind: CustomResourceDefinition\nmetadata: {name: jobs.batch.volcano.sh}\n"
    )
    with pytest.raises(LocalError, match=r"has no jobflows.flow.volcano.sh: without it"):
        await volcano.define(None, "east", volcano.find())
