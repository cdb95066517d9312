"""Profiles of generated examples: `small` repeats the same ones, `deep` searches for new ones."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "small", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "small"))
