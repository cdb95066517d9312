"""Answers that live as long as the value that they were worked out of."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast
from weakref import ref

T = TypeVar("T")

_MOST = 64
"""Answers of one value, at most: kinds of questions, times what else they were asked about."""


class KeepsAnswers:
    """A frozen value that owns what was worked out of it. That is no part of the value.

    A snapshot shares its unchanged parts with the last one, so that what was worked out of them is
    there in the next cycle, for any number of clusters, and goes with the last snapshot that has
    them. An answer must not refer to its owner.
    """

    __slots__ = ("_answers",)
    _answers: dict[Hashable, tuple["ref[object] | None", object]]

    def kept(self, key: Hashable, make: Callable[[], T], *, other: object = None) -> T:
        """The answer to `key`, made at most once.

        Where it is about a second object as well, it goes with the first of both.
        """
        try:
            answers = self._answers
        except AttributeError:
            answers = {}
            object.__setattr__(self, "_answers", answers)
        slot = key if other is None else (key, id(other))
        found = answers.get(slot)
        if found is not None and (found[0] is None or found[0]() is other):
            return cast("T", found[1])
        answer = make()
        gone = [one for one, (about, _) in answers.items() if about is not None and not about()]
        for one in gone if len(answers) < _MOST else list(answers):
            del answers[one]
        answers[slot] = (None if other is None else ref(other), answer)
        return answer
