"""For kubectl's comfort alone: tables of `kubectl get`, OpenAPI of `explain` and `diff`.

No program of this project asks for either. Start with `table_answers`.
"""
