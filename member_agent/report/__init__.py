"""The capacity report: what every HyperNode domain of this member can still hold.

`build` (pure) renders the topology that `shared.placement` counted, the bound pods per binding,
and reasons, into slices that each stand alone; `observe` (pure) collects those from the cache;
`publish` writes them, often enough to be trusted and seldom enough to be no load.

Nothing is ever reported larger than it is: rounding goes down, unreadable things are left out
with a reason. Read `build.slices_of` first.
"""
