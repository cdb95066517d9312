"""Karmada's interpreter by kind: pure functions on raw objects.

Workload kinds answer in their own file (`shared/kinds`); what is here asks them, and answers for
the kinds that are no workloads, or that only Karmada counts.

Which replicas and requests a template asks for (`demand`), how replicas are set for one member
(`revise`), what does not travel (`prune`), what a member keeps on an update (`retain`), what of a
member's status is collected (`reflect`), whether it is healthy (`health`), how statuses become the
template's (`aggregate`), and what a template depends on (`dependencies`).

No I/O, no clock, no knowledge of policies or clusters. Kinds are keyed by (apiVersion, kind).
Read `demand.demand_of` first.
"""
