"""No text of other writers steers a terminal."""

import pytest

from global_sched.shared.model.printable import (
    is_dns_name,
    is_label_key,
    is_label_value,
    printable,
    printable_lines,
)

TITLE = "\x1b]0;title\x07"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a plain text, with umlauts: ä – 漢", None, id="what is no control stays"),
        pytest.param(f"q{TITLE}", "q\\x1b]0;title\\x07", id="an operating system command"),
        pytest.param("\x9b2J", "\\x9b2J", id="a C1 control sequence"),
        pytest.param("a\r\nb\tc\x7f", "a\\x0d\\x0ab\\x09c\\x7f", id="lines, tabs, DEL"),
        pytest.param("\u202eevil\u2066", "\\u202eevil\\u2066", id="text that runs backwards"),
        pytest.param("q\u200b\ufeff", "q\\u200b\\ufeff", id="text that is not seen"),
        pytest.param("\ud800", "\\ud800", id="a lone surrogate"),
    ],
)
def test_printable(text, want):
    """Each unsafe character is spelt out, and a second time changes nothing."""
    assert printable(text) == (text if want is None else want)
    assert printable(printable(text)) == printable(text)


def test_lines_stay_lines():
    """Only line feeds pass."""
    assert printable_lines(f"a{TITLE}\nb\r") == "a\\x1b]0;title\\x07\nb\\x0d"


@pytest.mark.parametrize(
    ("text", "dns", "key", "value"),
    [
        pytest.param("team-a", True, True, True, id="a name"),
        pytest.param("a.b-c.d", True, True, True, id="a subdomain"),
        pytest.param("example.com/gpu", False, True, False, id="a key with a prefix"),
        pytest.param("Team_A", False, True, True, id="capitals"),
        pytest.param("", False, False, True, id="nothing"),
        pytest.param("-a", False, False, False, id="a dash first"),
        pytest.param("a" * 64, True, False, False, id="64 characters"),
        pytest.param("a" * 254, False, False, False, id="254 characters"),
        pytest.param("a\n", False, False, False, id="a line feed last"),
        pytest.param(f"a{TITLE}", False, False, False, id="an escape"),
    ],
)
def test_names(text, dns, key, value):
    """As the API server judges names of objects, keys and values of labels."""
    assert (is_dns_name(text), is_label_key(text), is_label_value(text)) == (dns, key, value)
