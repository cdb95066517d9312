"""Patches and field ownership: pure functions from one JSON object to another.

JSON patch, merge patch, strategic merge patch, and the sets of fields in `managedFields`.
Nothing in here knows a request or the store; `registry/patch_handler.py` reads the bodies.
"""
