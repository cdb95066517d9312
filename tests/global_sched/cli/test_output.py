"""Rows in every form, and how numbers are spelt."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from global_sched.cli.output import Column, amounts, duration, percent, show_rows

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


def test_no_rows(capsys):
    """People are told so on stderr; machines get an empty list."""
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
