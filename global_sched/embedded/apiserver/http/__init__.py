"""HTTP: a request as `RequestInfo`, its body as an object, an answer as bytes.

The only rooms that know aiohttp are this one and those above that answer with it. Start with
`request_info`.
"""
