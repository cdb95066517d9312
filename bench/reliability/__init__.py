"""Faults and what they do to the promises: runs, contrasts, and the times until all is well."""
