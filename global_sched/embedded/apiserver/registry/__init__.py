"""The verbs on stored objects: create, update, delete, list, watch, patch, apply, subresources.

One file per verb. Each takes a `RequestInfo` and returns what was stored or read; the answer's
form (a Table, say) is chosen above. Start with `writes`.
"""
