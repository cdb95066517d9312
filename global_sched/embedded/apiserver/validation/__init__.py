"""Validation of metadata, and of custom resources by schema, format and CEL rule.

Answers are lists of causes with field, value and the sentence of a real API server; nothing is
stored. Start with `schemas`, what a definition's schema is compiled to.
"""
