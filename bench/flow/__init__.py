"""Figures over HTTP between processes: from a POST to its clusters, LIST and WATCH, memory."""
