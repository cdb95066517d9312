"""Controllers inside the server: garbage collection, definitions, the objects of a fresh server.

They follow the store's changes and write through `registry`, never for a request.
"""
