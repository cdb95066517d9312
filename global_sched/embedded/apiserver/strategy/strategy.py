"""The strategy of a built-in kind: its defaults, preparation and validation.

A kind's module registers nothing at import: `kind_rules.KIND_RULES` is the one table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.storage.backend import Backend

Obj = dict[str, Any]


def _nothing(_obj: Obj) -> None:
    return


def _prepare_nothing(_backend: Backend, _obj: Obj) -> None:
    return


def _keep_nothing(_backend: Backend, _obj: Obj, _old: Obj) -> None:
    return


def _no_causes(_obj: Obj) -> list[StatusCause]:
    return []


def _no_changes(_obj: Obj, _old: Obj) -> list[StatusCause]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """The hooks of one kind; objects are changed in place."""

    defaults: Callable[[Obj], None] = _nothing
    """Fills what a decoder fills; before field ownership is computed."""
    admit: Callable[[Backend, Obj], None] = _prepare_nothing
    """Fills what admission fills on create; may refuse."""
    prepare: Callable[[Backend, Obj], None] = _prepare_nothing
    """Sets what the server owns on create (status, finalizers)."""
    prepare_update: Callable[[Backend, Obj, Obj], None] = _keep_nothing
    """Carries over what an update may not touch (new, old)."""
    validate: Callable[[Obj], list[StatusCause]] = _no_causes
    validate_update: Callable[[Obj, Obj], list[StatusCause]] = _no_changes
    """What a change breaks (new, old)."""
    validate_status: Callable[[Obj, Obj], list[StatusCause]] = _no_changes
    create_on_update: bool = False
    unconditional: bool = True
    """Whether an update may leave out the resourceVersion."""


NO_RULES = Strategy()
