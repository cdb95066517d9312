"""Numbers for "cannot be", "no limit" and "more than any node has", and why no sum overflows.

All arrays of the engine are int64, so every sum and product has to stay below 2**63.
"""

from typing import Final

import numpy as np

MOST_PODS_COUNTED: Final = 2**24
"""More pods of one shape on a node count as so many.

At most 2**20 alike nodes count (`capacity.baseline`), so a row is at most 2**44, and the rows of
2**18 leaves add up to less than 2**63.
"""

MOST_PODS_EXACT: Final = 2**21
"""Up to so many pods of a gang the exact programs run; beyond, sums over pairs could overflow.

2**21 pods are 2**41 pairs; tiers are at most 2**17 high (`tree.domain_index` brings higher ones
closer together), so a cost is at most 2**58, below `FAR`.
"""

LARGEST_AMOUNT: Final = 2**62
"""A larger free or requested amount counts as so much: no node has it, and one more addition of an
amount fits."""

FAR: Final = np.int64(2**60)
"""A cost that stands for "cannot be" under minimum; the sum of two of them is below 2**63.

The highest real cost is 2**58 (`MOST_PODS_EXACT`). After an addition costs are cut back to `FAR`.
"""

NEVER: Final = -(2**40)
"""A number of pods that stands for "does not fit" under maximum; 2**22 of them add up unharmed.

The highest real number is `MOST_PODS_COUNTED` per leaf; after a join what is below 0 is set back.
"""

NOTHING_SAVED: Final = -(2**60)
"""A saving that stands for "does not fit" under maximum; the sum of two is above -(2**63).

Real savings are at most 2**58 (`leaf_program.leaf_program_of` refuses larger sums).
"""
