"""Profiles of generated examples: `small` repeats the same ones, `deep` searches for new ones."""

import gc
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
if os.environ.get("HYPOTHESIS_PROFILE") == "deep":
    # Hypothesis remembers every example, and a full collection walks through all of them: a quarter
    # of the time of a property after 1,000 examples. Young garbage is collected as ever.
    gc.set_threshold(700, 10, 1000)
