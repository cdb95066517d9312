"""The elastic annotation: everything that it may say, and what is refused with a way out."""

import json
from dataclasses import replace

import pytest

from global_sched.shared.model.elastic_spec import ElasticRefusedError, parse_elastic, with_elastic
from global_sched.shared.model.gang import Amounts, Elastic, Gang, Partition, PodSet
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources

SHAPE = PodShape(requests=Resources.of({"cpu": 1000}))
WORKERS = PodSet(name=PodSetName("worker"), count=31, minimum=7, shape=SHAPE)
MASTER = PodSet(name=PodSetName("master"), count=1, minimum=1, shape=SHAPE)
GANG = Gang(pod_sets=(MASTER, WORKERS), minimum=8)


def pods(**counts: int) -> Amounts:
    """Pods by pod set."""
    return Amounts.of({PodSetName(name): count for name, count in counts.items()})


def test_everything_said():
    """Sizes or a step, and a cooldown; nothing said means any size and no cooldown."""
    sizes = parse_elastic('{"sizes": [8, 16, 32], "cooldown": "10m"}')
    assert sizes == Elastic(sizes=(8, 16, 32), cooldown=600)
    assert parse_elastic('{"step": 4}') == Elastic(step=4)
    assert parse_elastic("{}") == Elastic()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "elastic: is no object; use the keys sizes, step, cooldown"),
        ("{", "elastic: is not JSON: Input data was truncated; write one JSON object"),
        ('{"size": [8]}', "elastic.size: is no known key; use sizes, step, cooldown"),
        (
            '{"sizes": [8], "step": 1}',
            "elastic.step: stands beside sizes; leave one of them out",
        ),
        ('{"sizes": []}', "elastic.sizes: is no short list; list from 1 to 64 numbers of pods"),
        (
            '{"sizes": [8, 8]}',
            "elastic.sizes[1]: 8 is not above 8; write them ascending",
        ),
        (
            '{"sizes": [true]}',
            "elastic.sizes[0]: is True; use a whole number from 1 to 1000000",
        ),
        ('{"step": 0}', "elastic.step: is 0; use a whole number from 1 to 1000000"),
        (
            '{"cooldown": "61m"}',
            "elastic.cooldown: is '61m'; use a time from 0s to 1h such as 90s or 10m",
        ),
        (
            '{"cooldown": 60}',
            "elastic.cooldown: is 60; use a time from 0s to 1h such as 90s or 10m",
        ),
        (json.dumps({"sizes": [8] * 2000}), "elastic: has 6011 bytes; use at most 4096"),
    ],
)
def test_refused_with_a_way_out(text, why):
    """The field, the reason and the remedy."""
    with pytest.raises(ElasticRefusedError) as error:
        parse_elastic(text)

    assert str(error.value) == why


@pytest.mark.parametrize(
    ("gang", "sizes", "why"),
    [
        (
            GANG,
            (4, 8),
            (
                "elastic.sizes[0]: is 4, and the gang's minimum is 8; "
                "begin with the minimum, or lower that"
            ),
        ),
        (
            GANG,
            (8, 33),
            "elastic.sizes[1]: is 33, and the template has 32 pods; end with these",
        ),
        (
            GANG,
            (16, 32),
            (
                "elastic.sizes[0]: is 16, and the gang starts with its minimum, 8; "
                "begin with the minimum, or raise that"
            ),
        ),
        (
            replace(GANG, minimum=32, pod_sets=(MASTER, replace(WORKERS, minimum=31))),
            (),
            (
                "elastic: 0 pod sets have more pods than the gang's minimum takes (none); "
                "let one pod set have surplus"
            ),
        ),
        (
            replace(GANG, pod_sets=(replace(MASTER, count=2), WORKERS)),
            (),
            (
                "elastic: 2 pod sets have more pods than the gang's minimum takes "
                "(master, worker); let one pod set have surplus"
            ),
        ),
        (
            replace(
                GANG, pod_sets=(MASTER, replace(WORKERS, partition=Partition(size=1, total=31)))
            ),
            (),
            "elastic: the gang has partitions; leave it out: such a gang is given whole groups",
        ),
    ],
)
def test_sizes_that_do_not_go_with_the_gang(gang, sizes, why):
    """What only the template can show."""
    with pytest.raises(ElasticRefusedError) as error:
        with_elastic(gang, Elastic(sizes=sizes))

    assert str(error.value) == why


def test_the_largest_size_is_the_template():
    """Pods beyond it are not asked for."""
    assert with_elastic(GANG, Elastic(sizes=(8, 16))).all_amounts() == pods(master=1, worker=15)
    assert with_elastic(GANG, Elastic(step=5)).pods() == 28
    assert with_elastic(GANG, Elastic(sizes=(8,))).all_amounts() == pods(master=1, worker=7)


def test_amounts_are_cut_to_a_size():
    """The most that makes one of the pods that are there; nothing where that is none."""
    gang = with_elastic(GANG, Elastic(sizes=(8, 16, 32)))

    assert gang.sized(pods(master=1, worker=19)) == pods(master=1, worker=15)
    assert gang.sized(pods(master=1, worker=5)) == Amounts()
    assert gang.sized(pods(worker=15), pods(master=1, worker=15)) == Amounts()
    assert gang.sized(pods(worker=16), pods(master=1, worker=15)) == pods(worker=16)
    assert gang.sized(pods(worker=9), pods(master=1, worker=22)) == pods(worker=9)


def test_the_next_chunk():
    """What makes the next larger size, where so much is wanted."""
    gang = with_elastic(GANG, Elastic(sizes=(8, 16, 32)))

    assert gang.first_of(pods(worker=24), pods(master=1, worker=7)) == pods(worker=8)
    assert gang.first_of(pods(worker=16), pods(master=1, worker=15)) == pods(worker=16)
    assert gang.first_of(pods(worker=15), pods(master=1, worker=15)) == Amounts()


def test_sizes_of_a_step():
    """The minimum and so many more, again and again."""
    gang = with_elastic(GANG, Elastic(step=4))

    assert [gang.size_within(most) for most in (7, 8, 11, 12, 32)] == [0, 8, 8, 12, 32]
