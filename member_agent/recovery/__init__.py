"""Recovery: nodes in trouble, and names of pods that no kubelet will ever let go.

`trouble` is the state machine of a node, `signals` reads its inputs from the cache, `freeing`
says which pods may be deleted without grace; all three are pure. `keeper` runs them and keeps the
state in one ConfigMap of the agent's namespace. Nothing here writes to a Node.
"""
