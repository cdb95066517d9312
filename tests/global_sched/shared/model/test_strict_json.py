"""Annotations of strict JSON: what all of them refuse alike, and durations."""

import pytest

from global_sched.shared.model.strict_json import (
    LONGEST,
    TEXT_LIMIT,
    AnnotationRefusedError,
    read_object,
    seconds_of,
)


class TriedError(AnnotationRefusedError):
    """The refusal of an annotation `tried`."""

    annotation = "tried"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("[1]", "tried: is no object; use the keys a, b", id="a list"),
        pytest.param('{"c": 1}', "tried.c: is no known key; use a, b", id="an unknown key"),
        pytest.param(
            " " * (TEXT_LIMIT + 1), "tried: has 4097 bytes; use at most 4096", id="too long"
        ),
    ],
)
def test_a_refusal_names_the_annotation_the_field_and_the_remedy(text, why):
    """Whichever annotation it is."""
    with pytest.raises(TriedError) as caught:
        read_object(text, ("a", "b"), TriedError)

    assert str(caught.value) == why


def test_what_is_no_json_is_refused():
    """With the reader's own words."""
    with pytest.raises(TriedError, match=r"tried: is not JSON: .*; write one JSON object"):
        read_object("{", ("a",), TriedError)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("7d", LONGEST),
        ("8d", None),
        ("90", None),
        ("", None),
        ("1h30m", None),
        (90, None),
        (None, None),
    ],
)
def test_durations_have_one_unit_and_end_at_a_week(value, seconds):
    """A number without a unit says too little."""
    assert seconds_of(value) == seconds
