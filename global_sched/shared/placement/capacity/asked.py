"""What one pod of each of many shapes asks for, as arrays: what a `Tally` counts with."""

import numpy as np

MOST_PODS = 2**24
"""A bound that keeps the sums of an absurd report within 63 bits; more is never needed."""


class Asked:
    """What one pod of each shape asks for, and where it may go; shapes on the last axis."""

    def __init__(self, axis: int, classes: int, size: int) -> None:
        self.asked = np.ones((axis, size), dtype=np.int64)
        self.weighed = np.zeros((axis, size), dtype=np.int64)
        """1 for what slack is measured in."""
        self.floor = np.full((axis, size), MOST_PODS, dtype=np.int64)
        """What an amount of nothing counts as: no limit."""
        self.devices = np.zeros((axis, size), dtype=np.int64)
        """1 for devices that it does not ask for."""
        self.takes = np.zeros((classes, size), dtype=np.int64)
        self.most = np.full(size, MOST_PODS, dtype=np.int64)

    def copy_from(self, other: "Asked", size: int) -> None:
        """Take over the first shapes of another."""
        for mine, own in (
            (self.asked, other.asked),
            (self.weighed, other.weighed),
            (self.floor, other.floor),
            (self.devices, other.devices),
            (self.takes, other.takes),
            (self.most, other.most),
        ):
            mine[..., :size] = own[..., :size]

    def repeated(self, times: int) -> "Asked":
        """The same shapes so many times in a row: several nodes are counted in one go then."""
        found = Asked(0, 0, 0)
        for name, own in vars(self).items():
            setattr(found, name, np.concatenate([own] * times, axis=-1))
        return found
