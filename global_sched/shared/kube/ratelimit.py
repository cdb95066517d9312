"""A token bucket: so many per second on average, so many at once."""

from global_sched.shared.clock import Clock


class TokenBucket:
    """Tokens grow at `rate` per second up to `burst`; each allows one request."""

    def __init__(self, *, rate: float, burst: float, clock: Clock) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a token bucket needs rate > 0 and burst >= 1, not {rate}, {burst}")
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = burst
        self._at = clock.monotonic()

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now

    def take_nowait(self) -> bool:
        """Take a token if there is one."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def take(self) -> None:
        """Take a token, waiting for it; waiters are served in order of asking."""
        self._refill()
        self._tokens -= 1
        if self._tokens < 0:
            try:
                await self._clock.sleep(-self._tokens / self._rate)
            except BaseException:
                self._tokens += 1  # cancelled: the token goes to another request
                raise
