"""`make scenarios FILES="…"`: cases from files, each on what is shipped, with one line per case.

Files are the project's own (`global_sched.scenario`), or facts of Volcano's tests as data
(`volcano`), which become scenarios of the one format first. PodGroups of a member are placed by
the agent's own round in process (`agents`); cases about a whole cluster run on an embedded
federation, over HTTP, in virtual time (`federation`). `check` holds every placement of a PodGroup
against the rules by itself, so that a right count in a wrong place does not pass.

Read `cases.read` first, then `cases.Case.run`.
"""
