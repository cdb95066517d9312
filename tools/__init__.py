"""Generators of files that are kept in the repository: CRDs and reference pages."""
