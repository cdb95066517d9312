"""Volcano Jobs where no Volcano controller runs: a Job becomes a PodGroup and pods.

The decision is pure: `state.step(view, now)` turns a Job, its pods and its PodGroup into what
to create, delete and patch, the next status, and when to look again. The loop around it
(`controller.JobController`) watches, writes, and holds nothing that a restart may not lose.
Labels, annotations, variables and names are Volcano's, so that images made for it run.

What may not be in here: where pods go (`member_agent.scheduler`), and anything about the
federation. `wire`, `spec`, `policies`, `groups`, `pods`, `plugins`, `phases` and `state` import
no I/O, clock, random or log. A new kind of recovery is a new action in `policies` and a branch in
`state`; what it must remember goes into `memory.Memory`.

Read `state.step` first.
"""

from member_agent.jobs.controller import JobController
from member_agent.jobs.volcano import VolcanoRunsError, volcano_controller_lease

__all__ = ["JobController", "VolcanoRunsError", "volcano_controller_lease"]
