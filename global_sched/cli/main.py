"""The command `gsched`, and the two executables that make it a kubectl plugin."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from global_sched.cli.completing import complete_clusters, complete_jobs
from global_sched.cli.output import FORMATS, LIST_FORMATS
from global_sched.cli.where import Where
from global_sched.shared.api.names import SYSTEM_NAMESPACE
from global_sched.view.job_query import SORT_FIELDS, STATES, JobQuery

PARTS = ("control-plane", "host", "member", "volcano-kinds")
"""What `gsched manifests` prints the manifests of."""


def example(*commands: str) -> str:
    """The end of a help page: commands as they are typed."""
    listed = "\n".join(f"  {one}" for one in commands)
    return f"\b\nExample:\n{listed}"


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("gsched jobs -n team", "gsched explain -n team my-job"),
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="Kubeconfig of the Karmada control plane (default: $KUBECONFIG, then ~/.kube/config).",
)
@click.option("--context", help="Context in the kubeconfig.")
@click.option(
    "--leader-namespace",
    envvar="GSCHED_NAMESPACE",
    default=SYSTEM_NAMESPACE,
    show_default=True,
    show_envvar=True,
    help="Where the leader publishes its Policy: `namespace` in the settings of global-sched.",
)
@click.option("--as", "acting_user", default="", help="Act as this user, as with kubectl.")
@click.option("--as-group", "acting_groups", multiple=True, help="Act with this group; repeatable.")
@click.version_option(package_name="global-sched", prog_name="gsched")
@click.pass_context
def cli(
    context_: click.Context,
    kubeconfig: Path | None,
    context: str | None,
    leader_namespace: str,
    acting_user: str,
    acting_groups: tuple[str, ...],
) -> None:
    """See what global-sched sees: jobs, queues, tenants, clusters, and why a job waits."""
    context_.obj = Where(
        kubeconfig=kubeconfig,
        context=context,
        leader_namespace=leader_namespace,
        acting_user=acting_user,
        acting_groups=acting_groups,
    )


def output_option(command: click.decorators.FC) -> click.decorators.FC:
    """`-o table|wide|json|yaml`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to print.",
    )(command)


def list_options(command: click.decorators.FC) -> click.decorators.FC:
    """`-o table|wide|name|json|yaml` and `--no-headers`."""
    command = click.option("--no-headers", is_flag=True, help="Print no heads of columns.")(command)
    return click.option(
        "-o",
        "--output",
        type=click.Choice(LIST_FORMATS),
        default="table",
        show_default=True,
        help="How to print; a table is as wide as the terminal, wide has everything.",
    )(command)


def namespace_option(command: click.decorators.FC) -> click.decorators.FC:
    """`-n NAMESPACE`."""
    return click.option("-n", "--namespace", help="Only this namespace.")(command)


@cli.command(epilog=example("gsched jobs -n team --state pending -w"))
@click.argument("names", nargs=-1, shell_complete=complete_jobs)
@click.option("-A", "--all-namespaces", is_flag=True, help="Every namespace.")
@click.option(
    "-n", "--namespace", help="Only this namespace (default: the context's, else every one)."
)
@click.option("-l", "--selector", default="", help="Only jobs whose template has these labels.")
@click.option("--queue", help="Only jobs of this queue.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES, case_sensitive=False),
    help="Only jobs in this state; repeatable.",
)
@click.option(
    "--sort-by",
    type=click.Choice(SORT_FIELDS),
    help="Order by a field (default: what waits first, the longest wait on top).",
)
@click.option("-w", "--watch", is_flag=True, help="Go on with what changes, until Ctrl-C.")
@list_options
@click.pass_obj
def jobs(
    where: Where,
    /,
    *,
    output: str,
    all_namespaces: bool,
    watch: bool,
    no_headers: bool,
    **asked: Any,
) -> None:
    """Jobs (all, or those with NAMES): state, queue, cluster, pods, wait, and why they wait."""
    from global_sched.cli.jobs import show  # noqa: PLC0415 - --help stays quick

    if all_namespaces and asked["namespace"] is not None:
        raise click.UsageError("give either -A or -n NAMESPACE")
    if watch and output in ("json", "yaml"):
        raise click.UsageError("-w prints rows as they change: it goes with -o table, wide or name")
    show(
        where,
        JobQuery(**asked),
        output=output,
        all_namespaces=all_namespaces,
        headers=not no_headers,
        watch=watch,
    )


@cli.command(epilog=example("gsched queues --tree"))
@click.option("--tree", is_flag=True, help="As a tree: what each deserves, holds and borrows.")
@list_options
@click.pass_obj
def queues(where: Where, output: str, *, tree: bool, no_headers: bool) -> None:
    """Queues: state, priority, weight, what is held and what waits."""
    from global_sched.cli.queues import show_queues  # noqa: PLC0415 - as above

    show_queues(where, output=output, tree=tree, headers=not no_headers)


@cli.command(epilog=example("gsched tenants -o wide"))
@list_options
@click.pass_obj
def tenants(where: Where, output: str, *, no_headers: bool) -> None:
    """Tenants: weight, namespaces, dominant share."""
    from global_sched.cli.queues import show_tenants  # noqa: PLC0415 - as above

    show_tenants(where, output=output, headers=not no_headers)


@cli.command(epilog=example("gsched clusters"))
@list_options
@click.pass_obj
def clusters(where: Where, output: str, *, no_headers: bool) -> None:
    """Member clusters: readiness, age of the report, free room."""
    from global_sched.cli.clusters import show  # noqa: PLC0415 - as above

    show(where, output=output, headers=not no_headers)


@cli.command(epilog=example("gsched topology west"))
@click.argument("cluster", shell_complete=complete_clusters)
@output_option
@click.pass_obj
def topology(where: Where, cluster: str, output: str) -> None:
    """What every HyperNode domain of a member still holds."""
    from global_sched.cli.topology import show  # noqa: PLC0415 - as above

    show(where, cluster=cluster, output=output)


@cli.command(epilog=example("gsched nodes west"))
@click.argument("cluster", shell_complete=complete_clusters)
@click.argument("names", nargs=-1)
@click.option(
    "--member-kubeconfig",
    type=click.Path(path_type=Path),
    help="With `clear`: kubeconfig of the member (without it the command for kubectl is printed).",
)
@click.option(
    "--agent-namespace",
    default="global-sched",
    show_default=True,
    help="With `clear`: the namespace of the agent in the member.",
)
@output_option
@click.pass_obj
def nodes(
    where: Where,
    cluster: str,
    names: tuple[str, ...],
    member_kubeconfig: Path | None,
    agent_namespace: str,
    output: str,
) -> None:
    """Nodes of CLUSTER in trouble and on probation.

    `gsched nodes clear CLUSTER NODE …` ends the probation of nodes.
    """
    from global_sched.cli import nodes as command  # noqa: PLC0415 - as above

    if cluster == command.CLEAR and names:
        member = None if member_kubeconfig is None else Where(kubeconfig=member_kubeconfig)
        command.clear(member, cluster=names[0], names=names[1:], agent_namespace=agent_namespace)
    elif names:
        raise click.UsageError(f"unexpected {names[0]!r}; did you mean `gsched nodes clear`?")
    else:
        command.show(where, cluster=cluster, output=output)


@cli.command(epilog=example("gsched explain -n team my-job -o wide"))
@click.argument("job", shell_complete=complete_jobs)
@namespace_option
@output_option
@click.pass_obj
def explain(where: Where, job: str, namespace: str | None, output: str) -> None:
    """Why JOB is where it is, on one screen; -o wide shows each cluster and domain, too.

    JOB is a name, NAMESPACE/NAME, or the name of its binding.
    """
    from global_sched.cli.explain import show  # noqa: PLC0415 - as above

    show(where, job=job, namespace=namespace, output=output)


@cli.group(epilog=example("gsched job suspend -n team my-job --dry-run"))
def job() -> None:
    """Change jobs, with your own rights: suspend, resume, priority, cancel.

    What is written is a field of the job's own object; docs/kinds.md says which, for each kind.
    """


def act_options(command: click.decorators.FC) -> click.decorators.FC:
    """NAMES, `-n`, `--dry-run`."""
    command = click.option(
        "--dry-run", is_flag=True, help="The server checks and answers, and nothing is written."
    )(command)
    command = click.option(
        "-n", "--namespace", help="The namespace of the jobs (default: the context's)."
    )(command)
    return click.argument("names", nargs=-1, required=True, shell_complete=complete_jobs)(command)


@job.command(epilog=example("gsched job suspend -n team my-job"))
@act_options
@click.pass_obj
def suspend(where: Where, *, names: tuple[str, ...], namespace: str | None, dry_run: bool) -> None:
    """Hold jobs back: what runs is ended by its controller, and its room is free for others."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    asked = acts.Asked(names=names, namespace=namespace, dry_run=dry_run)
    acts.run(where, partial(acts.suspend, asked=asked, on=True))


@job.command(epilog=example("gsched job resume -n team my-job"))
@act_options
@click.pass_obj
def resume(where: Where, *, names: tuple[str, ...], namespace: str | None, dry_run: bool) -> None:
    """Let suspended jobs go on; each keeps its creation time, and so its place in the order."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    asked = acts.Asked(names=names, namespace=namespace, dry_run=dry_run)
    acts.run(where, partial(acts.suspend, asked=asked, on=False))


@job.command(epilog=example("gsched job cancel -n team my-job"))
@act_options
@click.pass_obj
def cancel(where: Where, *, names: tuple[str, ...], namespace: str | None, dry_run: bool) -> None:
    """Delete jobs: those that are there now, and no later ones of the same names."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    asked = acts.Asked(names=names, namespace=namespace, dry_run=dry_run)
    acts.run(where, partial(acts.cancel, asked=asked))


@job.command(epilog=example("gsched job priority -n team my-job --class urgent"))
@act_options
@click.option("--class", "class_name", required=True, help="The PriorityClass.")
@click.pass_obj
def priority(
    where: Where,
    *,
    names: tuple[str, ...],
    namespace: str | None,
    dry_run: bool,
    class_name: str,
) -> None:
    """Give jobs another PriorityClass."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    asked = acts.Asked(names=names, namespace=namespace, dry_run=dry_run)
    acts.run(where, partial(acts.prioritize, asked=asked, name=class_name))


@cli.group(epilog=example("gsched queue close research --dry-run"))
def queue() -> None:
    """Change queues, with your own rights: open, close, set."""


def dry_run_option(command: click.decorators.FC) -> click.decorators.FC:
    """`--dry-run`."""
    return click.option(
        "--dry-run", is_flag=True, help="The server checks and answers, and nothing is written."
    )(command)


@queue.command("open", epilog=example("gsched queue open research"))
@click.argument("names", nargs=-1, required=True)
@dry_run_option
@click.pass_obj
def open_(where: Where, *, names: tuple[str, ...], dry_run: bool) -> None:
    """Open queues: their jobs are admitted again."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    acts.run(where, partial(acts.open_queues, names=names, opened=True, dry_run=dry_run))


@queue.command(epilog=example("gsched queue close research"))
@click.argument("names", nargs=-1, required=True)
@dry_run_option
@click.pass_obj
def close(where: Where, *, names: tuple[str, ...], dry_run: bool) -> None:
    """Close queues: what runs goes on, and nothing new is admitted from them."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    acts.run(where, partial(acts.open_queues, names=names, opened=False, dry_run=dry_run))


@queue.command("set", epilog=example("gsched queue set research --weight 2 --deserved cpu=64"))
@click.argument("name")
@click.option("--weight", type=int, help="Its share among its siblings.")
@click.option("--priority", type=int, help="Its priority: the order among queues.")
@click.option("--parent", help="The queue above it.")
@click.option("--reclaimable/--not-reclaimable", default=None, help="Whether others take back.")
@click.option("--deserved", multiple=True, help="RESOURCE=AMOUNT that it is owed; repeatable.")
@click.option("--capability", multiple=True, help="RESOURCE=AMOUNT that it may hold at most.")
@click.option("--guarantee", multiple=True, help="RESOURCE=AMOUNT that is kept for it.")
@dry_run_option
@click.pass_obj
def set_(where: Where, /, *, name: str, dry_run: bool, **asked: Any) -> None:
    """Change fields of a queue; `RESOURCE=` takes a resource out of an amount."""
    from global_sched.cli import acts  # noqa: PLC0415 - as above

    spec = acts.queue_spec(asked)
    if not spec:
        raise click.UsageError("nothing to set: give --weight, --deserved or another option")
    acts.run(where, partial(acts.set_queue, name=name, spec=spec, dry_run=dry_run))


@cli.command(epilog=example("gsched left -n team my-job west"))
@click.argument("job", shell_complete=complete_jobs)
@click.argument("cluster", shell_complete=complete_clusters)
@namespace_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def left(where: Where, job: str, cluster: str, namespace: str | None, *, yes: bool) -> None:
    """Say that nothing of JOB is left in CLUSTER, which cannot show it itself.

    A withdrawn job is placed again once its old cluster shows that none of its pods are there. A
    cluster that is lost for good never does. If pods do still run there, they run twice.
    """
    from global_sched.cli.left import say  # noqa: PLC0415 - as above

    say(where, job=job, namespace=namespace, cluster=cluster, yes=yes)


@cli.command(epilog=example("gsched whatif job.yaml queue.yaml"))
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)
@output_option
@click.pass_obj
def whatif(where: Where, files: tuple[Path, ...], output: str) -> None:
    """Try FILES without writing anything: files, folders, or - for standard input.

    Manifests are tried against the live federation, all of them together: jobs with their policies,
    Queues, Tenants, PriorityClasses, and a Policy (settings of global-sched). Scenario files and
    suites are worlds of their own.
    """
    from global_sched.cli.whatif import show  # noqa: PLC0415 - as above

    show(where, files=files, output=output)


@cli.command(epilog=example("gsched dashboard"))
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True)
@click.option("--listen", default="127.0.0.1", show_default=True, help="Address; see --server.")
@click.option("--server", help="Behind a proxy that signs people in: the control plane's address.")
@click.option(
    "--certificate-authority",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --server: file with its certificate authority (default: the system's).",
)
@click.option("--host", "hosts", multiple=True, help="With --server: name that browsers ask for.")
@click.pass_obj
def dashboard(
    where: Where,
    *,
    port: int,
    listen: str,
    server: str | None,
    certificate_authority: Path | None,
    hosts: tuple[str, ...],
) -> None:
    """Pages in the browser: jobs and why they wait, the map of all racks, queues, what-if.

    They are served on this machine with the rights of the kubeconfig. With --server each request
    has to bring the Authorization header of a person, and nothing is read without it.
    """
    try:
        from global_sched.cli.dashboard import Proxied, run  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error}; pip install 'global-sched[web]'") from error

    if server is None and listen != "127.0.0.1":
        raise click.UsageError("without --server only this machine is served: --listen 127.0.0.1")
    if server is not None and not hosts:
        raise click.UsageError("with --server name the --host that browsers ask for")
    proxied = None
    if server is not None:
        proxied = Proxied(server=server, authority=certificate_authority, hosts=hosts)
    run(where, listen=listen, port=port, proxied=proxied)


@cli.command(epilog=example("gsched simulate --from jobs.csv --out results"))
@click.argument("experiment", required=False, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from",
    "history",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Jobs of your own: a CSV file (docs/simulator.md has its columns; `gsched record` writes"
    " one). Default for EXPERIMENT: own-history.yaml, which comes with gsched.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for results.")
@click.option(
    "--policy",
    "arms",
    multiple=True,
    help="An arm of EXPERIMENT, a baseline, or a file with fields of a Policy, which then is an arm"
    " beside those of EXPERIMENT. Repeatable.",
)
@click.option("--seeds", type=click.IntRange(1, 1000), help="So many runs with moved arrivals.")
@click.option("--check", is_flag=True, help="First hold the simulator against known results.")
@click.option("--no-plots", is_flag=True, help="Write no plots, which need the extra `sim`.")
@output_option
def simulate(
    experiment: Path | None,
    history: Path | None,
    out: Path | None,
    arms: tuple[str, ...],
    seeds: int | None,
    output: str,
    *,
    check: bool,
    no_plots: bool,
) -> None:
    """Run the jobs of EXPERIMENT in virtual time, under this scheduler and models of others.

    The decisions are those that the leader would make. With --out FOLDER all figures are written
    as result.json, runs.csv and tenants.csv, and plots as SVG and PNG.
    """
    from global_sched.cli.simulate import Options, run  # noqa: PLC0415 - as above

    if experiment is None and history is None and not check:
        raise click.UsageError("give an EXPERIMENT, --from FILE, or --check")
    options = Options(
        file=experiment,
        history=history,
        out=out,
        arms=arms,
        seeds=seeds,
        check=check,
        plots=not no_plots,
        output=output,
    )
    run(options)


@cli.command(epilog=example("gsched record --jobs jobs.csv"))
@click.option(
    "--jobs",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the finished jobs here, for `gsched simulate --from`.",
)
@click.option(
    "--replay",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what a cycle decides on now, with Policy and plan, for `gsched replay`.",
)
@click.pass_obj
def record(where: Where, jobs: Path | None, replay: Path | None) -> None:
    """Write what the live federation did and decides, for the simulator and for replays."""
    from global_sched.cli.record import record as write  # noqa: PLC0415 - as above

    if jobs is None and replay is None:
        raise click.UsageError("give --jobs FILE, --replay FILE, or both")
    write(where, jobs=jobs, replay=replay)


@cli.command(epilog=example("gsched replay cycle.json"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_option
def replay(file: Path, output: str) -> None:
    """Decide again on what `gsched record --replay` wrote; 1 where the plan differs from then."""
    from global_sched.cli.record import replay as decide  # noqa: PLC0415 - as above

    sys.exit(0 if decide(file, output=output) else 1)


@cli.command(epilog=example("gsched demo --keep"))
@click.option("--keep", is_flag=True, help="Stay up after the jobs are placed, until Ctrl-C.")
@click.option(
    "--examples",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with demo.yaml and its manifests (default: the examples that come with gsched).",
)
@click.option("--state", type=click.Path(path_type=Path), help="Folder for kubeconfigs and logs.")
@click.option("--kinds", is_flag=True, help="Run kinds.yaml instead: one job of each kind.")
@click.option("--faults", is_flag=True, help="Let nodes die and pods crash instead: what it costs.")
def demo(
    *, keep: bool, examples: Path | None, state: Path | None, kinds: bool, faults: bool
) -> None:
    """Start an embedded federation and run the examples on it."""
    try:
        from global_sched.cli import demo_faults  # noqa: PLC0415 - as above
        from global_sched.cli.demo import run  # noqa: PLC0415 - as above
    except ImportError as error:
        raise click.ClickException(_without_demo(error)) from error

    if faults:
        if keep or kinds or examples is not None:
            raise click.UsageError("--faults brings its own jobs; leave the other options out")
        sys.exit(demo_faults.run(state=state))
    sys.exit(run(examples=examples, state=state, keep=keep, name=_EXAMPLES[kinds]))


_EXAMPLES: Final = {False: "demo.yaml", True: "kinds.yaml"}


def _without_demo(error: ImportError) -> str:
    """What is missing where the embedded federation cannot be imported, and the command for it."""
    if (error.name or "").startswith("global_sched.embedded"):
        return (
            "this installation has no embedded federation, as the image for clusters:"
            " pip install 'global-sched[demo]' elsewhere"
        )
    return str(error)


@cli.command(
    epilog=example(
        "gsched manifests control-plane --member west | kubectl apply --server-side -f -"
    )
)
@click.argument("part", required=False, type=click.Choice(PARTS))
@click.option("--member", "members", multiple=True, help="Name of a member; more than once.")
@click.option("--image", default="", help="The image of both programs, with its registry and tag.")
@click.option(
    "--run-volcano-jobs", is_flag=True, help="The agents run Volcano Jobs: setting and rights."
)
@click.option(
    "--to", "folder", type=click.Path(path_type=Path), help="Write all files below this folder."
)
def manifests(
    part: str | None,
    members: tuple[str, ...],
    image: str,
    folder: Path | None,
    *,
    run_volcano_jobs: bool,
) -> None:
    """Print what to apply to PART: `gsched manifests host | kubectl apply --server-side -f -`.

    control-plane: the Karmada API server, with the access of each --member's agent. host: the
    cluster that hosts Karmada. member: one member. volcano-kinds: where Volcano is not installed.
    With --to FOLDER everything is written there: kustomize bases, charts, install.sh.
    """
    from global_sched.cli.manifests import Choice, copy, show  # noqa: PLC0415 - as above

    if (part is None) == (folder is None):
        raise click.UsageError("give either PART or --to FOLDER")
    if folder is not None:
        copy(folder)
    elif part is not None:
        show(part, Choice(members=members, image=image, run_volcano_jobs=run_volcano_jobs))


@cli.command(epilog=example("source <(gsched completion bash)"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: `source <(gsched completion bash)`."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - as above

    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"no completion for {shell}")
    click.echo(found(cli, {}, "gsched", "_GSCHED_COMPLETE").source())


def _quiet() -> None:
    """Log lines go to standard error, errors only: standard output is the answer and nothing else.

    What a command could not do it says itself, in one line.
    """
    from global_sched.shared.telemetry.logs import configure  # noqa: PLC0415 - as above

    configure(level="error")


def _run(**options: str) -> None:
    """The command line; an answer that cannot be written (a full disk) is one line, too."""
    _quiet()
    try:
        try:
            cli(**options)
        finally:
            sys.stdout.flush()
    except OSError as error:
        # What is still buffered would fail once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"Error: the answer cannot be written: {error.strerror or error}")


def main() -> None:
    """Run `gsched`."""
    _run(prog_name="gsched")


def kubectl_plugin() -> None:
    """`kubectl gsched …`: kubectl finds this on PATH."""
    _run(prog_name="kubectl gsched", complete_var="_GSCHED_COMPLETE")


def kubectl_complete() -> None:
    """Kubectl asks this for completions: candidates, then a directive in cobra's words.

    `:4` means no file names, `:0` that the shell is to complete file names.
    """
    from click.shell_completion import ShellComplete  # noqa: PLC0415 - as above

    _quiet()
    words = sys.argv[1:]
    found = ShellComplete(cli, {}, "gsched", "_GSCHED_COMPLETE").get_completions(
        words[:-1], words[-1] if words else ""
    )
    plain = [item for item in found if item.type == "plain"]
    for item in plain:
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(":4" if plain or not found else ":0")


if __name__ == "__main__":  # `python -m global_sched.cli.main`, where no executable is installed
    main()
