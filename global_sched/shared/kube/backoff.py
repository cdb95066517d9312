"""Back-off before the next try: decorrelated jitter between a floor and a cap."""

import random


class JitteredBackoff:
    """Successive delays that grow at random, so that many clients drift apart.

    Each delay is drawn from [floor, 3 × the last one], at most `cap`.

    Source:  M. Brooker, "Exponential Backoff And Jitter" (decorrelated jitter).
    """

    def __init__(
        self, *, floor: float = 0.5, cap: float = 60.0, rng: random.Random | None = None
    ) -> None:
        if not 0 < floor <= cap:
            raise ValueError(f"a back-off needs 0 < floor <= cap, not {floor} and {cap}")
        self._floor = floor
        self._cap = cap
        self._last = floor
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, protects nothing

    def next(self, at_least: float | None = None) -> float:
        """Seconds to wait now; exactly `at_least` when the server named a time."""
        self._last = min(self._cap, self._rng.uniform(self._floor, self._last * 3))
        return self._last if at_least is None else at_least

    def reset(self) -> None:
        """Start again from the floor: it worked."""
        self._last = self._floor

    def jitter(self, seconds: float) -> float:
        """A time in [seconds, 1.2 × seconds], for periods that should not fall together."""
        return self._rng.uniform(seconds, seconds * 1.2)
