"""Recovery of gangs that their member cannot hold: a move to another cluster, or fewer pods.

Start reading at `moves.move_or_stay` and `shrinking.go_on_with_fewer`.
"""
