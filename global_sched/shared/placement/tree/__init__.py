"""HyperNodes to a valid tree of domains, kept in step node by node, and its index by position.

`build` reads all HyperNodes at once, `live_tree` follows single changes of nodes and HyperNodes;
both give the same tree. `member_selectors` reads the members of one HyperNode, `node_index` finds
the HyperNodes that list a node, `parents` finds the HyperNode around each, `twins` merges those
with the same nodes, and `domain_index` numbers the domains for everything that counts by domain.

No pods, no amounts of resources and no gangs in here. Read `build.build_tree` first.
"""
