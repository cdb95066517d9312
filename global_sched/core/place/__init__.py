"""Placing a workload in its turn: an offer of room, or a refusal with its reason.

One file for each way of using clusters. Takes free room only; whose leaving would make more is the
business of `make_room`. Start reading at `admission.offer_for`.
"""
