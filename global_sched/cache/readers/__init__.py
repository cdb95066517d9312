"""One wire object to one small value: a Binding, a Cluster, a Queue, a report, a decision.

Plain functions and frozen values; nothing is remembered from one object to the next, and no reader
knows another object's store. Read `bindings.BindingReader` first.
"""
