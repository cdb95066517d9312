"""Figures of one part in one process: a cycle, the topology engine, a snapshot, a report."""
