"""Wire types of every object that we read or write, with only the fields that we use.

msgspec Structs: unknown fields are dropped on decoding, so a decoded object is never written
back whole; writes are patches. Also here: where each kind is served (`resource`), the labels and
annotations by name (`names`), and every condition type and reason (`reasons`). No defaults
that depend on state, no I/O. The CRDs of `crds/` are generated from these types.

Read `karmada.ResourceBinding` and `federation.CapacityReport` first.
"""
