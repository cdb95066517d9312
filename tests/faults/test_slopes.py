"""Slopes of samples: what grows with each job, once the programs are warm."""

from tests.faults.slopes import Growth, slope


def test_a_line_has_its_slope():
    """Two files for each job; and nothing where only one place was looked at."""
    assert slope([(0, 5), (10, 25), (20, 45)]) == 2.0
    assert slope([(3, 5), (3, 7)]) == 0.0


def test_the_first_third_does_not_count():
    """Memory that grows while modules are loaded, and stands then."""
    growth = Growth()
    for jobs in range(9):
        memory = min(jobs, 3) * 1000.0
        said = {
            "process_resident_memory_bytes": memory,
            "process_open_fds": 9.0,
            "gsched_event_loop_tasks": 20.0 + jobs,
        }
        growth.note("gs-a", jobs, said)

    assert growth.per_job() == {"gs-a": {"memory": 0.0, "files": 0.0, "tasks": 1.0}}
