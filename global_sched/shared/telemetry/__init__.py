"""Telemetry: metrics, logs, probes. Both programs use the same three files.

`metrics` declares every metric of both programs in one table, `logs` sets structlog up,
`serve` answers /metrics and the probes on a port of its own.

Nothing here knows Kubernetes: this room may not import `shared.kube` (which logs through it).
Read `metrics.SPECS` first.
"""
