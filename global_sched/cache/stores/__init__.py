"""Stores: all objects of one kind, with what changed since the last question.

`report_store`, `templates`, `tenants` and `overrides` keep what readers made of
objects; `demands` shares equal demands; `usage_index` says which workload waits in which queue and
which one holds what in which cluster; `assumed` deducts admitted pods from reported capacity.
Read `report_store.ReportStore` first.
"""
