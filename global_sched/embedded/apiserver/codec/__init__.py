"""Built-in types and their encodings: Go structs, shapes, protobuf, normal forms, quantities.

Nothing in here knows a request, a stored object or a custom resource. Start with `go_types`,
the table of built-in types that `tools/gen_kube_types.py` writes.
"""
