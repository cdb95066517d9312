"""Processes are started apart, known by id and start time, and only those are ended."""

import os
import signal
import sys
from pathlib import Path

from global_sched.shared.clock import SystemClock
from tools.local_karmada import processes
from tools.local_karmada.federation import Federation
from tools.local_karmada.ledger import Ledger, Program

WAIT = (sys.executable, "-c", "import signal; signal.pause()")
DEAF = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""
LAST_THREAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""
OUTLIVED = (sys.executable, "-c", LAST_THREAD)
STUBBORN = (sys.executable, "-c", DEAF)


def started(tmp_path, argv=WAIT):
    """A program that waits, in a ledger."""
    ledger = Ledger(tmp_path)
    return ledger, ledger.start(Program(name="one", argv=argv, log=ledger.log("one")))


def is_zombie(pid):
    """Whether the first thread of a process has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


async def test_down_ends_it_and_leaves_nothing(tmp_path):
    """The process is gone, and so is the folder."""
    state = tmp_path / "state"
    _, program = started(state)
    assert program.alive
    await Federation(state).down()
    assert not program.alive
    assert not state.exists()


async def test_down_works_when_it_is_down(tmp_path):
    """No folder, an empty folder, a stale one: nothing to say."""
    state = tmp_path / "state"
    await Federation(state).down()
    state.mkdir()
    (state / "logs").mkdir()
    (state / "federation.json").write_text("{half")
    await Federation(state).down()
    assert not state.exists()


async def test_down_deletes_only_its_own(tmp_path):
    """A folder that holds a foreign file stays, with the file."""
    started(tmp_path)
    (tmp_path / "thesis.txt").write_text("mine")
    await Federation(tmp_path).down()
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.txt"]


async def test_one_that_was_never_written_down_is_found(tmp_path):
    """A start that was cut off before it was recorded is known by its environment."""
    pid = processes.spawn(WAIT, log=tmp_path / "logs" / "x.log", state=tmp_path)
    assert list(processes.marked(tmp_path)) == [pid]
    await Federation(tmp_path).down()
    assert processes.started(pid) is None


async def test_a_start_ends_when_its_mark_can_be_read(tmp_path, monkeypatch):
    """While a program is being loaded its environment is empty, and `down` would not know it."""
    answers = [b"", b"", b"A=1"]
    monkeypatch.setattr(processes, "_environment", lambda _: answers.pop(0))
    pid = processes.spawn(WAIT, log=tmp_path / "logs" / "x.log", state=tmp_path)
    assert not answers
    monkeypatch.undo()
    await processes.end({pid: processes.started(pid) or ""}, clock=SystemClock())


async def test_one_that_does_not_listen_is_killed(tmp_path):
    """After its patience is over."""
    ledger, program = started(tmp_path, STUBBORN)
    clock = SystemClock()
    while "up" not in (tmp_path / "logs" / "one.log").read_text():
        await clock.sleep(0.01)
    await processes.end({program.pid: program.since}, clock=clock, patience=0.1)
    assert not program.alive
    assert ledger.programs["one"].pid == program.pid


async def test_another_process_of_the_same_id_is_left_alone(tmp_path):
    """An id that was given to another process since is not ours."""
    _, program = started(tmp_path)
    stranger = Program(name="two", argv=WAIT, log="", pid=program.pid, since="long ago")
    assert not stranger.alive
    await processes.end({stranger.pid: stranger.since}, clock=SystemClock())
    assert program.alive
    await Federation(tmp_path).down()


def test_a_child_that_ended_is_not_alive(tmp_path):
    """A zombie has an id and a start time, and is over."""
    _, program = started(tmp_path)
    os.kill(program.pid, signal.SIGKILL)
    while program.alive:
        pass
    assert not program.alive


async def test_a_process_lives_as_long_as_its_last_thread(tmp_path):
    """Its first thread is a zombie, and another one still has its port: it has not ended."""
    _, program = started(tmp_path, OUTLIVED)
    clock = SystemClock()
    while not is_zombie(program.pid):
        await clock.sleep(0.01)
    assert program.alive
    await processes.end({program.pid: program.since}, clock=clock)
    assert not program.alive
    await Federation(tmp_path).down()


def test_starting_again_starts_only_what_ended(tmp_path):
    """The same process while it runs, a new one when it does not."""
    ledger, program = started(tmp_path)
    assert ledger.start(program).pid == program.pid
    os.kill(program.pid, signal.SIGKILL)
    while program.alive:
        pass
    again = ledger.start(program)
    assert again.pid != program.pid
    os.kill(again.pid, signal.SIGKILL)
