"""Requests of a gang: pod specs to shapes, topology constraints, one task per cluster.

`pod_shape` reduces a pod's spec to what decides where it fits, `devices` refuses requests that need
a device protocol, `constraints` reads the topology constraints that users write, `tier_names` gives
tier names their meaning in one cluster, `node_match` says which nodes a shape may use and in which
positions of the resource axis it asks, and `compile` makes one task of a gang for one cluster.

No free capacity in here. Read `compile.compile_task` first.
"""
