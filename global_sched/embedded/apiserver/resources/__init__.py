"""Served resources: each kind, built in or from a definition, as one `ResourceInfo`.

The table says names, verbs, columns and shape of a kind, and has no objects. Start with
`resource_info`.
"""
