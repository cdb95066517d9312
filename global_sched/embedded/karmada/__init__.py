"""The part of Karmada that the flow needs, as controllers over HTTP.

Policies claim templates, templates become bindings, bindings with clusters become Works, Works
become objects in members, and their status comes back to the template. Everything goes through a
`Client` like any other program's, so that the embedded API server stays honest.

It never decides what a scheduler or a member's agent decides: which clusters, how many replicas,
which nodes. What may not be here: knowledge of queues, tenants, topology, or of our decisions.

Rooms inside: `interpreter` (what the controllers know of each kind; pure), `claim`, `overrides`,
`naming`, `selectors`, `manifests` (pure), and one file per controller. Read `karmada.Karmada`
first, then follow a template: `detector`, `dispatcher`, `execution`, `work_status`,
`binding_status`.
"""

from global_sched.embedded.karmada.karmada import Karmada, KarmadaOptions

__all__ = ["Karmada", "KarmadaOptions"]
