"""The federation as people see it: rows, sentences and trials, before they have a form.

Commands print them and the dashboard draws them; both say the same of a job since both ask here.
Nothing here prints, and nothing decides: verdicts and advice are those of `global_sched.core`.
Start reading at `look.look`.
"""
