"""Input that cannot be used."""


class SimulationError(ValueError):
    """A trace or an experiment cannot be used; the message names place, reason and remedy."""


class TraceAbsentError(SimulationError):
    """A trace that an experiment needs is not there."""
