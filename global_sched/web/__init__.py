"""`gsched dashboard`: pages over what `global_sched.view` says of the federation.

Read-only, rendered by the server, with the rights of each viewer and none of its own. Needs the
extra `web` (Jinja2). What a job waits for and what would help is asked of `view` and `core`, never
worked out here. Start reading at `server.application`; who sees what is in `viewers`, the way in
(token, cookie, Host) in `entry`, and one file per page has its values, one template its form.
"""
