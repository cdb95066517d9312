"""Every workload kind answers every question, and its answers fit each other."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from global_sched.embedded.access import DEPLOY
from global_sched.embedded.members.member import OPTIONAL
from global_sched.shared.api import yaml_text
from global_sched.shared.api.pod_kinds import KNOWN
from global_sched.shared.api.reasons import Reason
from global_sched.shared.api.resource import VOLCANO_JOBS
from global_sched.shared.api.schema import crd
from global_sched.shared.kinds import KINDS, field_names
from global_sched.shared.kinds.parts.acts import Field
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.verdict import Code
from tests.kinds import RUNTIMES, SAMPLES
from tests.wire import decode

ROOT = Path(__file__).parents[4]
EVERY = [pytest.param(one, id=one.resource.group_kind) for one in KINDS.values()]
READ = {"get", "list", "watch"}
RIGHTS = {
    "global-sched/rbac.yaml": READ,
    "member-agent/member.yaml": READ | {"patch"},
    "tenants/viewer.yaml": READ | {"create", "patch", "update", "delete"},
}
"""What the ClusterRoles of the shipped manifests give for each kind."""


def sample(kind):
    """The object of that kind in the samples."""
    return SAMPLES[kind.resource.group_kind]


def reading(kind):
    """What its template says."""
    return kind.reading(decode(sample(kind), kind.wire), runtime(kind))


def runtime(kind):
    """The object that holds the other part of the sample, None where there is none."""
    if kind.runtimes is None:
        return None
    found = RUNTIMES[kind.resource.group_kind]
    ref = kind.runtimes.ref(decode(sample(kind), kind.wire))
    [one] = [one for one in kind.runtimes.crds if one.resource.kind == ref.kind]
    assert (found["kind"], found["metadata"]["name"]) == (ref.kind, ref.name)
    return decode(found, one.type)


def facts(kind):
    """What the agent keeps of it."""
    return kind.facts(decode(sample(kind), kind.owner))


def pattern_of(path, patterns):
    """The pattern that a path or a beginning of it fits."""
    parts = path.split("/")
    return next(
        (
            one
            for one in (pattern.split("/") for pattern in patterns)
            if len(parts) <= len(one)
            and all(want in ("*", part) for part, want in zip(parts, one, strict=False))
        ),
        None,
    )


def test_every_kind_has_a_sample_and_no_other_has_one():
    """The table below is about all kinds."""
    assert sorted(SAMPLES) == sorted(one.resource.group_kind for one in KINDS.values())


@pytest.mark.parametrize("kind", EVERY)
def test_a_sample_is_read(kind):
    """It asks for pods of one scheduler, and is counted as its own kind."""
    found = reading(kind)

    assert found.problem is None
    assert (found.api_version, found.kind) == kind.key
    assert found.pod_sets
    assert 1 <= found.minimum <= sum(one.count for one in found.pod_sets)
    assert found.scheduler_name() == "member-agent"


@pytest.mark.parametrize("kind", EVERY)
def test_leader_and_agent_read_the_same_minimum(kind):
    """What the agent knows of the object alone is what the leader admits."""
    found, kept = reading(kind), facts(kind)
    sets = Amounts.of({one.name: one.minimum for one in found.pod_sets})

    assert kept.minimum in (None, sets)
    if kept.groups is not None:
        assert kept.groups.least * kept.groups.size == found.minimum
    counts = {one.name: one.count for one in found.pod_sets}
    assert [task for task in kept.tasks if counts.get(task.name) != task.replicas] == []
    gang = not found.divisible
    assert gang is not kind.one_by_one
    assert gang is bool(kept.minimum or kept.groups or kept.tasks or kept.below)
    assert kept.below is (kind.runtimes is not None)


@pytest.mark.parametrize("kind", EVERY)
def test_scheduler_names_stand_where_overrides_look_for_them(kind):
    """Every place that a reading names is one that override policies are followed at."""
    found = reading(kind).scheduling
    paths = [one.path for one in (*found.fields, found.fallback) if one is not None]

    assert bool(paths) is (kind.runtimes is None)
    assert [one for one in paths if pattern_of(one, kind.schedulers) is None] == []
    assert [one for one in kind.brings if pattern_of(one, kind.schedulers) is None] == []


@pytest.mark.parametrize("kind", EVERY)
def test_what_completed_is_an_end(kind):
    """A kind that ends says with which status; nothing else is an end."""
    assert kind.ends({}) is False
    assert kind.ends({"conditions": 5, "state": "Completed"}) is False
    assert (kind.completed is None) is (kind.failed is None)
    if kind.completed is not None:
        assert kind.ends(kind.completed) is True
        assert kind.ends(kind.failed) is True
        assert kind.completed != kind.failed


@pytest.mark.parametrize("kind", EVERY)
def test_karmada_counts_what_is_read(kind):
    """Where Karmada's interpreter has a number of pods, it is the one that is admitted."""
    asked, template = kind.karmada, sample(kind)
    if asked.replicas is not None:
        assert asked.replicas(template) == sum(one.count for one in reading(kind).pod_sets)
    assert (asked.replicas is None) is (asked.revised is None)
    if asked.pods is not None:
        assert all(pod["containers"] for pod in asked.pods(template))
    if asked.health is not None:
        assert asked.health(template | {"status": {}}) in (True, False)
    if asked.aggregate is not None and kind.completed is not None:
        item = {"clusterName": "m1", "status": dict(kind.completed)}
        status = asked.aggregate(template, [item], "2026-01-01T00:00:00Z")
        assert kind.ends(status) is True


@pytest.mark.parametrize("kind", EVERY)
def test_it_makes_pods(kind):
    """Without a reader it would be refused, not copied to every cluster."""
    assert kind.resource.group_kind in KNOWN


@pytest.mark.parametrize("kind", EVERY)
def test_its_crd_takes_the_sample(kind):
    """Kinds that not every API server has come with a CRD, which takes what users write."""
    builtin = kind.resource.group in ("apps", "batch")

    assert (kind.crd is None) is builtin
    if kind.crd is not None:
        assert kind.crd.resource == kind.resource
        [version] = crd(kind.crd)["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]
        assert list(jsonschema_rs.Draft4Validator(schema).iter_errors(sample(kind))) == []


@pytest.mark.parametrize("kind", EVERY)
def test_a_part_in_another_object(kind):
    """Without that object it waits for it; its CRD takes the sample, and the leader may read it."""
    if kind.runtimes is None:
        assert kind.resource.group_kind not in RUNTIMES
        return
    found = kind.reading(decode(sample(kind), kind.wire)).problem

    assert (found.code, found.reason) == (Code.WAIT, Reason.RUNTIME_MISSING)
    text = (DEPLOY / "global-sched" / "rbac.yaml").read_text(encoding="utf-8")
    for one in kind.runtimes.crds:
        [version] = crd(one)["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]
        body = RUNTIMES[kind.resource.group_kind]
        assert list(jsonschema_rs.Draft4Validator(schema).iter_errors(body)) == []
        assert one.resource.plural in text


@pytest.mark.parametrize("kind", EVERY)
def test_an_embedded_member_runs_it(kind):
    """Its pods come from a controller in the member; those of Volcano Jobs from the agent."""
    if kind.crd is not None and kind.resource != VOLCANO_JOBS:
        assert OPTIONAL[kind.resource].resource == kind.resource


@pytest.mark.parametrize("path", RIGHTS)
@pytest.mark.parametrize("kind", EVERY)
def test_the_shipped_rights_know_it(kind, path):
    """The leader reads it, the agent annotates it, a tenant submits it."""
    manifests = yaml_text.read_all((DEPLOY / path).read_text(encoding="utf-8"))
    rules = [
        rule
        for one in manifests
        if one["kind"] == "ClusterRole"
        for rule in one["rules"]
        if kind.resource.group in rule["apiGroups"] and kind.resource.plural in rule["resources"]
    ]

    assert RIGHTS[path] <= {verb for rule in rules for verb in rule["verbs"]}


@pytest.mark.parametrize("kind", EVERY)
def test_it_is_told_in_words(kind):
    """docs/kinds.md has a cell for each."""
    told = {name: getattr(kind.about, name) for name in kind.about.__dataclass_fields__}

    assert [name for name, text in told.items() if not text] == []


@pytest.mark.parametrize("kind", EVERY)
def test_advice_names_its_fields(kind):
    """Every kind says where its queue and class stand; of a minimum only if it can be lowered."""
    fields = kind.fields

    assert fields.queue
    assert fields.priority_class
    assert fields.topology
    assert fields == field_names(*kind.key)


def written(kind, field, value):
    """The sample with what an act writes, decoded."""
    obj = json.loads(json.dumps(sample(kind)))
    merge(obj, field.patch(obj, value))
    return decode(obj, kind.wire)


def merge(obj, patch):
    """A JSON merge patch without removals."""
    for name, value in patch.items():
        if isinstance(value, dict):
            merge(obj.setdefault(name, {}), value)
        else:
            obj[name] = value


@pytest.mark.parametrize("kind", EVERY)
def test_an_act_writes_what_is_read(kind):
    """A suspended sample is held, one with another class has that; or it is said why it cannot."""
    suspend, priority = kind.acts.suspend, kind.acts.priority

    if isinstance(suspend, Field):
        held = kind.reading(written(kind, suspend, True), runtime(kind)).problem
        assert held.reason == Reason.SUSPENDED
        assert kind.reading(written(kind, suspend, False), runtime(kind)).problem is None
    else:
        assert len(suspend.why) > 40
    if isinstance(priority, Field):
        assert kind.reading(written(kind, priority, "urgent")).priority_class == "urgent"
    else:
        assert len(priority.why) > 40
