"""Functions of a number of pods: (min, +) and (max, +) convolution, and a split by prices.

Arrays in, arrays out: no tree, no nodes, no shapes in here. Read `min_plus.merge` first.
"""
