"""The peer benchmark's reading of audit logs, READMEs and objects; the rest is the run itself."""

import json

import pytest

from bench.peers.audit import Request, Tail, by, counts, span
from bench.peers.bindings import committed
from bench.peers.gangs import _again, _apart
from bench.peers.page import with_table
from bench.peers.processes import Reading, used


def line(verb, what, *, user="one", code=200, began="00:00:01.000000", ended="00:00:02.000000"):
    """A line of an audit log."""
    resource, _, subresource = what.partition("/")
    return json.dumps(
        {
            "kind": "Event",
            "verb": verb,
            "user": {"username": user, "groups": ["everybody"]},
            "objectRef": {"resource": resource, "subresource": subresource, "namespace": "peers"},
            "responseStatus": {"code": code},
            "requestReceivedTimestamp": f"2026-01-31T{began}Z",
            "stageTimestamp": f"2026-01-31T{ended}Z",
        }
    )


def requests(tmp_path, *lines) -> list[Request]:
    """What a tail reads of these lines."""
    path = tmp_path / "audit.log"
    path.write_text("an earlier line\n", encoding="utf-8")
    tail = Tail(path)
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n" + '{"half a')
    return tail.read()


def test_a_tail_has_whole_lines_that_came_after_it(tmp_path):
    """What was there before, and a line that is still being written, are left out."""
    found = requests(tmp_path, line("patch", "resourcebindings/status"))
    assert [one.what for one in found] == ["patch resourcebindings/status"]


def test_only_successful_writes_of_the_named_users_count(tmp_path):
    """Reads, refusals and other users' writes are no writes of theirs."""
    found = requests(
        tmp_path,
        line("patch", "resourcebindings"),
        line("patch", "resourcebindings", code=409),
        line("list", "resourcebindings"),
        line("create", "events"),
        line("patch", "resourcebindings", user="other"),
    )
    assert counts(by(found, {"one"})) == {"patch resourcebindings": 1, "create events": 1}


def test_a_span_goes_from_the_first_arrival_to_the_last_answer(tmp_path):
    """Requests overlap and end in any order."""
    found = requests(
        tmp_path,
        line("patch", "a", began="00:00:03.000000", ended="00:00:03.500000"),
        line("patch", "a", began="00:00:01.250000", ended="00:00:04.750000"),
    )
    assert span(found) == 3.5
    assert span([]) == 0


def test_a_program_that_was_started_counts_from_its_start():
    """What a program had used before the first look is not counted, unless it is new."""
    before = {"server": Reading(cpu_seconds=2, rss_mb=1)}
    after = {"server": Reading(cpu_seconds=5, rss_mb=1), "new": Reading(cpu_seconds=1, rss_mb=1)}
    assert used(before, after) == {"server": 3, "new": 1}


@pytest.mark.parametrize(
    ("clusters", "status", "whether"),
    [
        pytest.param([{"name": "a"}], "True", True, id="clusters and Scheduled"),
        pytest.param([{"name": "a"}], None, False, id="clusters, but no status yet"),
        pytest.param([], "False", False, id="refused"),
    ],
)
def test_a_binding_is_committed_when_spec_and_status_say_so(clusters, status, whether):
    """Both writes belong to a commit."""
    conditions = [{"type": "Scheduled", "status": status}] if status else []
    item = {"spec": {"clusters": clusters}, "status": {"conditions": conditions}}
    assert committed(item) is whether


def test_gangs_in_two_racks_are_counted():
    """Nodes are named after their racks."""

    def pod(group, node):
        meta = {"annotations": {"scheduling.k8s.io/group-name": group}}
        return {"metadata": meta, "spec": {"nodeName": node}}

    near = [pod("near", "rack-1-0"), pod("near", "rack-1-7")]
    far = [pod("far", "rack-1-1"), pod("far", "rack-2-1")]
    assert _apart([*near, *far]) == 1


def test_an_object_is_made_again_as_its_maker_sent_it():
    """Without what the server added: ids, status, node; and without its owner, who is elsewhere."""
    stored = {
        "metadata": {
            "name": "gang-0-worker-0",
            "namespace": "agents",
            "uid": "u",
            "resourceVersion": "7",
            "ownerReferences": [{"name": "gang-0"}],
        },
        "spec": {"nodeName": "rack-1-0", "containers": []},
        "status": {"phase": "Running"},
    }
    assert _again(stored, "bare") == {
        "metadata": {"name": "gang-0-worker-0", "namespace": "bare"},
        "spec": {"containers": []},
    }


def test_the_table_of_the_readme_is_put_in_once():
    """A second run replaces the first one's, and everything else stays."""
    text = "# name\n\nfirst screen\n\n## Next steps\n\nread on\n"
    once = with_table(text, "| old |\n")
    again = with_table(once, "| new |\n")
    assert "| old |" in once
    assert "| old |" not in again
    assert again.replace("| new |", "| old |") == once
    assert again.startswith("# name\n\nfirst screen\n\n## Beside karmada-scheduler\n")
    assert again.endswith("## Next steps\n\nread on\n")
