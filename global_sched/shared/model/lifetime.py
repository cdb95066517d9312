"""Answers that are kept for as long as the objects live that they were made of."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class WhileAlive(Generic[T]):
    """Answers by the identity of objects, each until the first of its objects is gone.

    A snapshot shares its unchanged parts with the last one. What a present snapshot uses is never
    dropped, however large it is, and nothing outlives the last snapshot that used it: there is no
    number of clusters beyond which a cycle makes everything anew. An answer must not refer to the
    objects themselves, or both live for ever.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[tuple[ref[object], ...], T]] = {}

    def of(self, objects: tuple[object, ...], make: Callable[[], T], more: Hashable = None) -> T:
        """The answer about these objects, made at most once; `more` tells apart what is asked."""
        key = (*map(id, objects), more)
        found = self._kept.get(key)
        if found is not None:
            return found[1]
        answer = make()

        def gone(_: ref[object]) -> None:
            self._kept.pop(key, None)

        self._kept[key] = (tuple([ref(one, gone) for one in objects]), answer)
        return answer

    def __len__(self) -> int:
        return len(self._kept)
