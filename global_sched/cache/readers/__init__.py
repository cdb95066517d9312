"""One reader per kind: a template becomes what its pods need, its queue, priority and constraint.

A reader takes a decoded wire object and returns a `Reading`; a template that cannot be read gives
a `Reading` whose `problem` is the verdict, with object, field, reason and what would help. Nothing
of the template itself is kept. Kinds without a reader here go by what their binding says
(`generic`).

No defaults of ours may change what a job means: what is filled in is what the kind's own API
server or webhook would fill in. Read `reading.Reading` first, then `registry.READERS`.
"""
