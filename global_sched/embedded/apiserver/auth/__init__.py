"""Authentication and authorization: bearer tokens, impersonation, RBAC and their reviews.

Rights are read from stored roles and bindings only. Start with `rbac`.
"""
