"""Rows in every form, and how numbers are spelt."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from global_sched.cli.output import Column, show_rows
from global_sched.view.text import amounts, duration, percent

COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="FREE", text=lambda row: amounts(row["free"])),
    Column(head="N", field="count", right=True),
    Column(head="MORE", field="more", wide=True),
)
ROWS = [
    {"name": "a", "free": {"cpu": "2", "nvidia.com/gpu": "0"}, "count": 12, "more": ["x", "y"]},
    {"name": "longer", "free": {}, "count": None, "more": []},
]
TABLE = """\
NAME     FREE                       N
a        cpu 2, nvidia.com/gpu 0   12
longer   -                          -
"""
WIDE = """\
NAME     FREE                       N   MORE
a        cpu 2, nvidia.com/gpu 0   12   x,y
longer   -                          -   -
"""


@pytest.mark.parametrize(
    ("output", "want"),
    [
        pytest.param("table", TABLE, id="columns as wide as their widest cell, - for nothing"),
        pytest.param("wide", WIDE, id="wide columns only on request"),
    ],
)
def test_tables(capsys, output, want):
    """A table is aligned, numbers to the right; a head is aligned like its column."""
    show_rows(ROWS, COLUMNS, output)

    assert capsys.readouterr().out == want


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_machines_get_every_field_as_it_is(capsys, output):
    """JSON and YAML hold the rows themselves, not the cells."""
    show_rows(ROWS, COLUMNS, output)

    text = capsys.readouterr().out
    assert (json.loads(text) if output == "json" else yaml.safe_load(text)) == ROWS


def test_names_and_no_heads(capsys):
    """`-o name` is what kubectl takes as an argument; `--no-headers` is for pipes."""
    show_rows([{"object": "queue.scheduling.volcano.sh/a"}], COLUMNS, "name")
    show_rows(ROWS[:1], COLUMNS[:1], "table", headers=False)

    assert capsys.readouterr().out == "queue.scheduling.volcano.sh/a\na\n"


@pytest.mark.parametrize(
    ("width", "want"),
    [
        pytest.param(50, "NAME   SHORT   LONG\na      1       it waits for a rack", id="all of it"),
        pytest.param(
            40, "NAME   SHORT   LONG\na      1       it waits for a rack with", id="cut to the line"
        ),
        pytest.param(34, "NAME   LONG\na      it waits for a rack with", id="a column less"),
        pytest.param(10, "NAME   LONG\na      it waits for a rack with", id="never less than that"),
    ],
)
def test_a_table_fits_the_terminal(capsys, monkeypatch, width, want):
    """Columns leave by their order; a column of sentences is cut, and the cut is seen."""
    columns = (
        Column(head="NAME", field="name"),
        Column(head="SHORT", field="short", leaves=1),
        Column(head="LONG", field="long", sentences=True),
    )
    monkeypatch.setenv("COLUMNS", str(width))
    show_rows(
        [{"name": "a", "short": 1, "long": "it waits for a rack with 5 free"}], columns, "table"
    )

    shown = capsys.readouterr().out
    head, line = shown.splitlines()
    wanted_head, wanted_line = want.splitlines()
    assert head == wanted_head
    assert line.startswith(wanted_line[:-1])
    assert len(line) <= max(width, 31)
    assert line.endswith("…") == (width < 50)


@pytest.mark.parametrize(
    ("environment", "terminal", "want"),
    [
        pytest.param({}, True, "\x1b[31mbad\x1b[0m", id="a terminal"),
        pytest.param({}, False, "bad", id="a pipe"),
        pytest.param({"NO_COLOR": "1"}, True, "bad", id="NO_COLOR"),
        pytest.param({"TERM": "dumb"}, True, "bad", id="a dumb terminal"),
    ],
)
def test_colours(capsys, monkeypatch, environment, terminal, want):
    """Only on a terminal, and never where they are not wanted."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    show_rows([{"s": "bad"}], [Column(head="S", field="s", colour=lambda _: "red")], "table")

    assert capsys.readouterr().out == f"S\n{want}\n"


def test_no_rows(capsys):
    """People see it on stderr; machines get an empty list."""
    show_rows([], COLUMNS, "table", nothing="No jobs found.")
    assert capsys.readouterr() == ("", "No jobs found.\n")

    show_rows([], COLUMNS, "json")
    assert capsys.readouterr() == ("[]\n", "")


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        pytest.param(-5, "0s", id="a clock that is behind"),
        pytest.param(119.9, "119s", id="under two minutes"),
        pytest.param(120, "2m", id="minutes"),
        pytest.param(7200, "2h", id="whole hours"),
        pytest.param(11_100, "3h5m", id="hours and minutes"),
        pytest.param(172_800, "2d", id="days"),
    ],
)
def test_durations(seconds, want):
    """Ages are spelt as kubectl spells them."""
    assert duration(seconds) == want


def test_shares():
    """Shares have two decimals."""
    assert percent(1 / 3) == "33.33%"


@pytest.mark.slow
def test_standard_output_is_the_answer_alone():
    """What libraries log in between never lands among JSON; warnings are not shown at all."""
    code = (
        "import click; from global_sched.cli import main; from global_sched.shared.telemetry "
        "import logs\n"
        "@main.cli.command()\n"
        "def noisy():\n"
        "    logs.get_logger('x').warning('watch_failed')\n"
        "    logs.get_logger('x').error('broken')\n"
        "    click.echo('{}')\n"
        "main.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "noisy"], capture_output=True, text=True, check=True
    )

    assert done.stdout == "{}\n"
    assert "broken" in done.stderr
    assert "watch_failed" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered output", "unbuffered output"])
def test_a_full_disk_is_one_line(unbuffered):
    """An answer that cannot be written."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from global_sched.cli.main import main; main()", "-h"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == "Error: the answer cannot be written: No space left on device\n"


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml"])
def test_no_cell_steers_the_terminal(capsys, output):
    """A queue name with escapes is shown in letters, whatever the form."""
    bad = "q\x1b]0;title\x07\x1b[2J\x9b2J\x7f\u202e"
    show_rows([{"queue": bad, "all": [bad]}], [Column(head="QUEUE", field="queue")], output)

    written = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\x9b", "\x7f", "\u202e"} & set(written)
    assert "title" in written
