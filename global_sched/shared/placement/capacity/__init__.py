"""Free capacity of one or many clusters: rows of equal nodes, and how many pods fit per domain.

`from_nodes` makes a topology of nodes and pods, `histogram` counts equal nodes of one domain as one
entry. `baseline` is a topology as arrays, `node_groups` its rows while capacity is taken and given
back, `fit_counts` the pods of each shape per row and domain, of many clusters in one array,
`shape_table` the view of one shape in one cluster, and `allocations` what is taken of a cluster.

Nothing in here chooses a domain or a node. Read `node_groups.Rows` first.
"""
