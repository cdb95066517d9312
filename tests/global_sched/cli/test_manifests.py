"""`gsched manifests`: what is printed for each API server, and what is written."""

import pytest
import yaml
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.shared.assets import asset


def run(*arguments):
    return CliRunner().invoke(cli, ["manifests", *map(str, arguments)])


def objects(*arguments):
    """The printed objects as `Kind namespace/name`."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return [one for one in yaml.safe_load_all(result.output) if one]


def names(found):
    return [f"{one['kind']}/{one['metadata']['name']}" for one in found]


def test_the_control_plane_gets_kinds_rights_and_each_agents_access():
    """Everything of the base, then a namespace and an account per member."""
    found = objects("control-plane", "--member", "m1", "--member", "m2")

    assert "CustomResourceDefinition/directives.federation.global-sched.io" in names(found)
    assert "ValidatingAdmissionPolicy/global-sched-bindings" in names(found)
    accounts = [
        one["metadata"]["namespace"]
        for one in found
        if one["kind"] == "ServiceAccount" and one["metadata"]["name"] == "member-agent"
    ]
    assert accounts == ["karmada-es-m1", "karmada-es-m2"]
    assert names(found).index("Namespace/karmada-es-m1") < names(found).index("Role/member-agent")
    assert "MEMBER" not in run("control-plane", "--member", "m1").output


@pytest.mark.parametrize(
    ("arguments", "want_name"),
    [
        pytest.param(("host",), "global-sched", id="the host cluster"),
        pytest.param(("member", "--member", "m1"), "member-agent", id="a member"),
    ],
)
def test_a_program_is_printed_with_the_image_that_is_named(arguments, want_name):
    """The Deployment has that image; without one, the version of the project."""
    for more, want in (
        (("--image", "registry.example/gs:9"), "registry.example/gs:9"),
        ((), "global-sched:0.1.0"),
    ):
        found = objects(*arguments, *more)
        [deployment] = [one for one in found if one["kind"] == "Deployment"]
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        assert (deployment["metadata"]["name"], container["image"]) == (want_name, want)


def test_an_agent_runs_volcano_jobs_where_that_is_asked_for():
    """The setting and the rights come together, and neither without being asked for."""
    for flags, want in ((("--run-volcano-jobs",), True), ((), False)):
        found = objects("member", "--member", "m1", *flags)
        [settings] = [one for one in found if one["metadata"]["name"] == "member-agent-settings"]
        content = yaml.safe_load(settings["data"]["settings.yaml"])
        assert content["cluster"] == "m1"
        assert content.get("run_volcano_jobs", False) is want
        assert ("ClusterRoleBinding/member-agent-jobs" in names(found)) is want


def test_volcanos_kinds_where_volcano_is_not_installed():
    """The four that global-sched and the agents read."""
    assert names(objects("volcano-kinds")) == [
        "CustomResourceDefinition/jobs.batch.volcano.sh",
        "CustomResourceDefinition/podgroups.scheduling.volcano.sh",
        "CustomResourceDefinition/queues.scheduling.volcano.sh",
        "CustomResourceDefinition/hypernodes.topology.volcano.sh",
    ]


def test_all_of_it_as_files(tmp_path):
    """What a wheel has, and nothing else; a second time is refused."""
    first, second = run("--to", tmp_path), run("--to", tmp_path)

    assert first.exit_code == 0
    assert (tmp_path / "deploy/install.sh").read_text() == (
        asset("deploy") / "install.sh"
    ).read_text()
    left_out = ("kind", "images", "__init__.py")
    assert [one for one in left_out if (tmp_path / "deploy" / one).exists()] == []
    assert len(list((tmp_path / "crds").iterdir())) == len(list(asset("crds").iterdir()))
    assert second.output == f"Error: {tmp_path}/deploy is there already: choose another folder\n"


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param((), "give either PART or --to FOLDER", id="nothing"),
        pytest.param(("host", "--to", "x"), "give either PART or --to FOLDER", id="both"),
        pytest.param(("member",), "give --member NAME once", id="a member without a name"),
        pytest.param(
            ("member", "--member", "Über"), "not the name of a Cluster", id="a name that is none"
        ),
        pytest.param(("nowhere",), "'nowhere' is not one of", id="an unknown part"),
    ],
)
def test_what_cannot_be_printed(arguments, want):
    """One line with the remedy."""
    result = run(*arguments)

    assert result.exit_code != 0
    assert want in result.output
