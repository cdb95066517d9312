"""In which order workloads get their turn.

Down the tree of queues, then inside a leaf; `keys` has every rule by its name. No room and no
placing in here. Start reading at `queue_order.QueueOrder`.
"""
