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
