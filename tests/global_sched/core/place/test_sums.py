"""Free amounts of the clusters in all, given away on paper."""

from global_sched.core.place.sums import Sums
from global_sched.core.statement import Statement
from global_sched.shared.model.resources import Resources
from tests.builders import GPU, NOW, POLICY, cluster, queue, snapshot, workload

ONE = Resources.of({GPU: 1})
JOB = workload("j", gpus=1, queue="q")


def statement_of(*, capability=None):
    """Ten free GPUs, and a job that waits for one of them."""
    room = cluster("c", racks=1, nodes=1, gpus=10)
    return Statement(snapshot([room], [queue("q", gpus=capability)], pending=[JOB]), POLICY, NOW)


def test_what_is_taken_is_still_there():
    """The rooms of the statement know nothing of it; its queue is charged, until a rollback."""
    statement = statement_of()
    sums = Sums(statement)

    assert sums.clusters(JOB, ONE) == [(0, 10)]
    assert sums.take(JOB, 0, ONE, 4) == 4
    assert sums.clusters(JOB, ONE) == [(0, 6)]
    assert statement.rooms.free.sum(GPU) == 10
    assert statement.ledger.queue_held("q") == {GPU: 4}


def test_limits_let_in_what_they_let_in():
    """Fewer than asked for, and nothing once they are reached."""
    sums = Sums(statement_of(capability=3))

    assert [sums.take(JOB, 0, ONE, 4) for _ in range(2)] == [3, 0]


def test_who_never_had_room_is_told_from_who_came_late():
    """Neither is held any more; `hopeless` had no room to begin with."""
    statement = statement_of()
    large = workload("large", gpus=11, queue="q")
    sums = Sums(statement)
    sums.take(JOB, 0, ONE, 10)

    assert not sums.hold(JOB, ONE)
    assert not sums.hold(large, Resources.of({GPU: 11}))
    assert (sums.hopeless(JOB), sums.hopeless(large)) == (False, True)
