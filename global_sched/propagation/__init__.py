"""The binding that Karmada makes of a template and the policies that select it; pure.

The embedded Karmada acts on these functions, and scenarios and `whatif` build with them the
bindings that a control plane would hold, so that both worlds agree. Raw objects go in and come out;
no I/O, and nothing that global-sched or an agent decides.

Read `claim.choose` (which policy) and `binding_content.new_binding` (what the binding says).
"""
