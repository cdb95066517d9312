"""Making room: the search for victims, claims, reservations, and what they hold.

A claim is written only with a placement that is proved with its victims gone. Start reading at
`claims.Claims`.
"""
