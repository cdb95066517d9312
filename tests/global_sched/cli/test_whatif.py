"""`gsched whatif`: scenario files, and manifests tried on a live state."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.cli.whatif import show_trial
from global_sched.core import run_cycle
from global_sched.scenario import ScenarioError
from global_sched.shared.assets import asset
from global_sched.view.trial import WhatIfInput, displaced, planned, tried
from tests.global_sched.cli.worlds import RACKS, scenario_view
from tests.wire import GPU, pod_template, stripped, task, vcjob

SCENARIOS = Path(__file__).parents[2] / "scenarios"
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "jobs", "namespace": "default"},
    "spec": {
        "schedulerName": "global-sched",
        "resourceSelectors": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}],
        "placement": {},
    },
}
SCENARIO = """\
a gang goes to the smaller cluster, because its rack can hold it

NAMESPACE   NAME    STATE     QUEUE     PLACE   CLUSTER   PODS   WAIT   REASON
default     rack    Running   default       -   b          4/4     0s   -
default     spine   Running   default       -   a          4/4     0s   -

everything is as the file expects
"""


def gang(name, pods):
    """A Volcano Job of whole nodes in one rack, as a user would write it."""
    template = pod_template(restartPolicy="Never")
    template["spec"]["schedulerName"] = "volcano"
    template["spec"]["containers"][0]["resources"] = {"limits": {GPU: "8"}}
    return stripped(
        vcjob(name, task("worker", pods, template=template), tier=1, namespace="default")
    )


def rows(view, *manifests):
    """What whatif shows of the manifests, by name, and whom they displace."""
    keys = tried(view, [], [POLICY, *manifests])
    plan = run_cycle(view.state.snapshot(), view.policy, view.now)
    shown = {key: planned(view, key, plan) for key in keys.values()}
    return (
        {
            row["name"]: (row["state"], row["clusters"], row["domain"], row["pods"]["wanted"])
            for row in shown.values()
        },
        displaced(view.plan, plan, frozenset(keys.values())),
    )


@pytest.mark.parametrize(
    ("manifest", "want"),
    [
        pytest.param(gang("new", 3), ("Would start", ["a"], "a-1", 3), id="a new job that fits"),
        pytest.param(gang("new", 5), ("Pending", [], None, 5), id="a new job that does not fit"),
        pytest.param(gang("rack", 4), ("Running", ["b"], "b-1", 4), id="a job as it is already"),
        pytest.param(
            gang("too-wide", 3), ("Would start", ["a"], "a-1", 3), id="a waiting job made smaller"
        ),
    ],
)
def test_manifests_on_a_live_state(manifest, want):
    """The result is what `kubectl apply` of the file would lead to; a live job keeps its room."""
    found, moved = rows(scenario_view(), manifest)

    assert (found, moved) == ({manifest["metadata"]["name"]: want}, [])


def test_a_manifest_that_cannot_be_read_is_named():
    """The object and the field are in the error, for new jobs and live ones."""
    for name in ("new", "rack"):
        bad = gang(name, 4)
        bad["spec"]["tasks"][0]["replicas"] = "four"
        with pytest.raises(ScenarioError) as caught:
            tried(scenario_view(), [], [POLICY, bad])
        assert str(caught.value) == (
            f"Job default/{name}: Expected `int | null`, got `str` - at `$.spec.tasks[0].replicas`"
        )


def whatif(*arguments, text=None):
    """Run the command."""
    return CliRunner().invoke(cli, ["whatif", *map(str, arguments)], input=text)


def test_a_scenario_file_is_a_world_of_its_own():
    """No control plane is needed; the table is that of `gsched jobs`."""
    result = whatif(SCENARIOS / "rack-of-four.yaml")

    assert result.exit_code == 0
    assert result.output == SCENARIO


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_an_expectation_that_does_not_hold_is_exit_code_1(tmp_path, output):
    """Machines read the same sentences."""
    path = tmp_path / "world.yaml"
    path.write_text(RACKS + "expect:\n  rack: {cluster: a}\n")

    result = whatif(path, "-o", output)

    assert result.exit_code == 1
    value = json.loads(result.output) if output == "json" else yaml.safe_load(result.output)
    assert value["failures"] == ["at the start: rack: cluster is b, wanted a"]
    assert [row["name"] for row in value["jobs"]] == ["rack", "too-wide"]


SUITE = """\
suite: two of them
world: {clusters: [{name: a, nodes: [{}]}]}
cases:
- {scenario: one fits, world: {jobs: [{name: j}]}, expect: {j: {cluster: a}}}
- {scenario: none is there, world: {jobs: [{name: j}]}, expect: {j: {cluster: b}}}
"""
FAILED = """\
ok        one fits
FAILED    none is there
          not as expected: at the start: j: cluster is a, wanted b
1 of 2 cases are as expected
"""


def test_a_suite_is_a_line_per_case(tmp_path):
    """With what is not as expected below it; -o json has all of each case, and the exit code."""
    (tmp_path / "suite.yaml").write_text(SUITE)

    result = whatif(tmp_path / "suite.yaml")
    value = json.loads(whatif(tmp_path / "suite.yaml", "-o", "json").output)

    assert (result.exit_code, result.output) == (1, FAILED)
    assert [one["scenario"] for one in value["cases"]] == ["one fits", "none is there"]
    assert (value["failed"], value["left_out"]) == (1, [])


def test_several_files_a_folder_and_standard_input(tmp_path):
    """A folder is the manifests in it, by name; what is beside them is not looked at."""
    (tmp_path / "b.yml").write_text(RACKS + "expect:\n  rack: {cluster: b}\n")
    (tmp_path / "a.yaml").write_text(SUITE)
    (tmp_path / "notes.txt").write_text("no manifest")
    both = FAILED.replace("1 of 2", "ok        one gang runs, one does not fit\n2 of 3")

    assert whatif(tmp_path).output == both
    assert whatif(tmp_path / "a.yaml", tmp_path / "b.yml").output == both
    assert whatif("-", tmp_path / "b.yml", text=SUITE).output == both
    assert whatif("-", text=(SCENARIOS / "rack-of-four.yaml").read_text()).output == SCENARIO


def test_cases_that_need_an_agent_are_left_out_and_said_so():
    """PodGroups of a member's own are placed by its agent, which `make scenarios` runs."""
    result = whatif(SCENARIOS / "topology-cases.yaml")

    assert result.exit_code == 0, result.output
    assert "left out  " in result.output
    assert "`make scenarios` in a checkout" in result.output


@pytest.mark.parametrize(
    ("files", "want"),
    [
        pytest.param({}, "no .yaml, .yml or .json file in this folder", id="an empty folder"),
        pytest.param(
            {"a.yaml": SUITE, "b.yaml": "kind: Queue\n"},
            "a.yaml is a scenario, a world of its own, and",
            id="scenarios beside manifests",
        ),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, files, want):
    """One line with the names."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    result = whatif(tmp_path)

    assert result.exit_code == 1
    assert want in result.output
    assert result.output.count("\n") == 1


WAITS = """\
default/too-wide
  verdict   NO_FIT TopologyDoesNotFit: waits for a HyperNode of tier 1 with room for 5 pods; the largest have room for 3 (a-1 and a-2 in a) and 1 (b-2 and b-10 in b)
  runs when spec.networkTopology.highestTierAllowed is 2 (now 1): there is room in a-spine of a
  runs when 3 pods are enough to start (spec.minAvailable, now 5): there is room in a-1 of a
"""  # noqa: E501 - a line of output is as wide as it is


def test_why_jobs_of_a_scenario_wait(tmp_path):
    """With -o wide the lines of `gsched explain` follow the table, and in JSON its values."""
    path = tmp_path / "world.yaml"
    path.write_text(RACKS)

    assert WAITS in whatif(path, "-o", "wide").output
    assert WAITS not in whatif(path).output
    value = json.loads(whatif(path, "-o", "json").output)
    (told,) = value["explanations"].values()
    assert (told["position"], told["length"]) == (1, 1)
    assert [one["text"] for one in told["remedies"]] == [
        "spec.networkTopology.highestTierAllowed is 2 (now 1): there is room in a-spine of a",
        "3 pods are enough to start (spec.minAvailable, now 5): there is room in a-1 of a",
        (
            "all running jobs end; then still: waits for a HyperNode of tier 1 with room for 5 "
            "pods; the largest have room for 4 (b-1 in b) and 3 (a-1 and a-2 in a)"
        ),
    ]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(b"\xff\xfe", "not a text file", id="bytes"),
        pytest.param(b"scenario: x\nworld: {clusterz: 3}\n", "unknown field `clusterz`", id="typo"),
        pytest.param(b"just text\n", "document 1 is not an object", id="text"),
        pytest.param(b"a: [b\n", "not YAML", id="broken YAML"),
        pytest.param(
            b"kind: Job\nmetadata: [x]\n",
            "document 1: metadata is not an object",
            id="metadata that is a list",
        ),
        pytest.param(
            b"kind: List\nitems: abc\n", "document 1: items is not a list", id="a List of a text"
        ),
        pytest.param(
            b"kind: List\nitems: [null]\n",
            "document 1: items[0] is not an object",
            id="a List of nothing",
        ),
        pytest.param(
            b"scenario: x\nworld: {clusters: [], manifests: [gone.yaml]}\n",
            "gone.yaml: No such file or directory",
            id="a file beside it that is not there",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path, content, want):
    """One line, before any control plane is asked."""
    path = tmp_path / "file.yaml"
    path.write_bytes(content)

    result = whatif(path)

    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert result.output.count("\n") == 1
    assert want in result.output


@pytest.mark.parametrize("scheduler", ["member-agent", "", "by an override"])
def test_the_jobs_of_the_quickstart(scheduler):
    """What the page tells people to write is placed in racks of four; the batch Job by its name.

    Without the scheduler's name the refusal says what to write; the override does it, too.
    """
    page = (SCENARIOS.parents[1] / "docs" / "quickstart.md").read_text()
    [text] = [part.partition("```")[0] for part in page.split("```yaml")[1:]]
    view = scenario_view(
        "scenario: free\nworld:\n  clusters:\n  - name: a\n"
        "    domains: {a-1: {tier: 1}, a-2: {tier: 1}}\n"
        "    nodes: [{domain: a-1, count: 4}, {domain: a-2, count: 4}]\n"
    )
    manifests = [one for one in yaml.safe_load_all(text) if one["kind"] != "Namespace"]
    pod = manifests[-1]["spec"]["template"]["spec"]
    if scheduler != "member-agent":
        # As the API server fills it in.
        pod["schedulerName"] = "default-scheduler"
    if scheduler == "by an override":
        override = (asset("deploy") / "policies/agent-binds.yaml").read_text()
        manifests += yaml.safe_load_all(override.replace("NAMESPACE", "my-team"))
    keys = tried(view, [], manifests)
    plan = run_cycle(view.state.snapshot(), view.policy, view.now)

    rows = {name: planned(view, key, plan) for name, key in keys.items()}
    found = {name: (row["state"], row["domain"]) for name, row in rows.items()}
    assert found["my-team/mine"] == ("Would start", "a-1")
    if scheduler:
        assert found["my-team/mine-too"] == ("Would start", "a-2")
    else:
        assert rows["my-team/mine-too"]["reason"] == "ConstraintNotHonoured"
        assert "set schedulerName: member-agent" in rows["my-team/mine-too"]["detail"]


@pytest.mark.parametrize(
    ("manifest", "want"),
    [
        pytest.param(
            gang("too-wide", 3),
            "default/too-wide exists already: waits, 1 in its queue: TopologyDoesNotFit; as in the"
            " file: starts in a",
            id="a job that waits, made smaller",
        ),
        pytest.param(
            gang("rack", 4),
            "default/rack exists already: stays in b; as in the file: the same",
            id="a job that runs, as it is",
        ),
        pytest.param(gang("new", 3), None, id="a new job"),
    ],
)
def test_a_job_that_exists_already(capsys, manifest, want):
    """It is said what the next cycle does with it now, and what it would do."""
    view, trial = scenario_view(), WhatIfInput(manifests=(manifest,))
    keys = tried(view, [], [POLICY, manifest])

    show_trial(view, keys, trial, "table")

    said = [line for line in capsys.readouterr().out.splitlines() if "exists already" in line]
    assert said == ([] if want is None else [want])
