"""The only place that reads the traces beside the repository; absent ones are said to be absent."""

import csv
import gzip
import io
from pathlib import Path

TRACES = Path(__file__).parents[2] / "shared" / "traces"


class TraceMissingError(Exception):
    """A trace is not there; figures that need it are left out and say so."""


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV trace, by column name. Raises TraceMissingError when it is not there."""
    path = TRACES / name
    if not path.exists():
        raise TraceMissingError(f"the trace {name} is not beside the repository (../shared/traces)")
    raw = path.read_bytes()
    text = gzip.decompress(raw).decode() if path.suffix == ".gz" else raw.decode()
    return list(csv.DictReader(io.StringIO(text)))


def philly_gpus() -> list[int]:
    """GPUs of each job of the Philly trace, in order of arrival."""
    return [int(row["num_gpus"]) for row in rows("philly/philly.csv.gz")]


def openb_nodes() -> list[tuple[int, int, int]]:
    """(milli-CPU, MiB, GPUs) of each node of the openb trace."""
    return [
        (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]))
        for row in rows("openb/openb_node_list_all_node.csv.gz")
    ]


def openb_pods() -> list[tuple[int, int, int]]:
    """(milli-CPU, MiB, GPUs) of each pod of the openb trace."""
    return [
        (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]))
        for row in rows("openb/openb_pod_list_default.csv.gz")
    ]


def openb_gpu_nodes() -> list[tuple[int, int, int, str]]:
    """(milli-CPU, MiB, GPUs, GPU model) of each openb node that has GPUs."""
    return [
        (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
        for row in rows("openb/openb_node_list_gpu_node.csv.gz")
    ]


def openb_whole_gpu_pods(workload: str) -> list[tuple[int, int, int, str]]:
    """(milli-CPU, MiB, GPUs, allowed models as `A|B`) of a workload's pods that take whole GPUs."""
    return [
        (
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            int(row["num_gpu"]),
            row.get("gpu_spec") or "",
        )
        for row in rows(f"openb/openb_pod_list_{workload}.csv.gz")
        if int(row["num_gpu"]) >= 1 and int(row["gpu_milli"]) == 1000
    ]


def lingjun_hosts() -> list[tuple[str, tuple[str, ...]]]:
    """Each host with its domains from the top: core, PSW, (PSW, ASW)."""
    return [
        (row["ip"], (row["DSW"], row["PSW"], f"{row['PSW']}-{row['ASW']}"))
        for row in rows("lingjun-topo/topo.csv")
    ]


def zhejianglab_hosts() -> list[tuple[str, tuple[str, ...]]]:
    """Each server with its domains from the top: the spine, and the pod of its four rail leaves."""
    leaves: dict[str, set[str]] = {}
    for row in rows("zhejianglab-topo/server_leaf.csv"):
        leaves.setdefault(row["server"], set()).add(row["leaf"])
    return [
        (server, ("spine", "+".join(sorted(rails)))) for server, rails in sorted(leaves.items())
    ]
