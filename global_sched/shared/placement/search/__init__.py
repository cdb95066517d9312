"""The algorithms: which domain, which split over its children, which nodes.

`solver` decides which algorithm answers. `select_domain` with `one_shape_exact` places pods of one
shape; `multi_shape` with `leaf_program`, `multi_shape_exact`, `node_packing` and the bounds places
several shapes or groups; `greedy` is the plain way that a bound is held against; `select_nodes`
picks the nodes of one domain; `math` holds the convolutions and the split by prices.

Every file states its problem, the method by its name in the literature, why it is exact or how far
off, and its cost. docs/design/0003 tells how they work together. Read `solver.Solver` first.
"""
