"""Talking to Kubernetes API servers: client, informer, work queue, lease, events, faults.

One seam carries every byte: `transport.Transport`, one method that sends a request and one
that opens a stream. What stands above it (client, informer, lease, events) never sees a socket,
and what stands below it (credentials, TLS, proxies) never sees an object.

No queue, job, cluster or topology may be known here, and no decision is made here: a client
never retries a write on its own, because the caller's decision may be stale by then.

Modules: `errors` (the tree), `transport` and `connect` (bytes and credentials), `client`
(verbs), `decode` (typed objects, and what to do with unreadable ones), `informer`, `workqueue`,
`lease`, `events`, `retry`, `backoff`, `ratelimit`, `faults` (scripted failures for flows).
Read `client.Client` first, then `informer.Informer`.
"""
