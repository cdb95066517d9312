"""The cycle's own answer for one workload, as people read it: verdicts, victims, remedies.

Everything here runs the cycle and looks at it; nothing of the cycle depends on it. Start reading at
`explaining.explain_workload`.
"""
