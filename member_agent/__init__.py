"""The member agent: one per member cluster, beside its API server.

It reports what every HyperNode domain can still hold to the control plane, and puts the gangs
that arrive on nodes, close together in the network. It repeats the federation's flow in small:
observe (`cache`), build and publish (`report`); observe, place, bind (`scheduler`). `jobs` runs
Volcano Jobs where no Volcano controller does.

Of global_sched it imports `shared` only. `app.Agent` is the one place that constructs things;
`cache`, `report.build` and `scheduler.place` are pure and know no I/O, clock or log.

Read `app.Agent` first, then `scheduler.place.plan_round`.
"""
