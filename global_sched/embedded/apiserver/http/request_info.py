"""One request, understood: what it asks for, of what, by whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from global_sched.embedded.apiserver.field_errors import not_supported, too_long
from global_sched.embedded.apiserver.http.identity import User
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import (
    StatusCause,
    StatusError,
    bad_request,
    invalid,
)


@dataclass(slots=True, kw_only=True)
class RequestInfo:
    """A resource request."""

    method: str
    verb: str
    served: ResourceInfo
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    user: User
    agent: str = ""
    """The first word of the User-Agent, up to its version."""
    content_type: str = ""
    accept: str = ""
    warnings: list[str] = field(default_factory=list)

    def flag(self, name: str) -> bool:
        """A boolean parameter, as Go's server reads it."""
        value = self.query.get(name)
        return value is not None and value.lower() not in {"false", "0"}

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored.

        Raises:  StatusError (422) for another value than All.
        """
        value = self.query.get("dryRun")
        if value is None or value == "":
            return False
        if value != "All":
            raise self._bad_option(not_supported("dryRun", [value], ["All"]))
        return True

    def _bad_option(self, cause: StatusCause) -> StatusError:
        options = {
            "create": "CreateOptions",
            "update": "UpdateOptions",
            "delete": "DeleteOptions",
            "deletecollection": "DeleteOptions",
        }
        kind = options.get(self.verb, "PatchOptions")
        return invalid(kind, "meta.k8s.io", "", [cause])

    @property
    def manager(self) -> str:
        """Who owns the fields that this request writes.

        Raises:  StatusError for a name that is too long.
        """
        named = self.query.get("fieldManager")
        if named and len(named) > 128:
            raise self._bad_option(too_long("fieldManager", 128))
        return named or self.agent or "unknown"

    @property
    def field_validation(self) -> str:
        """Strict, Warn or Ignore.

        Raises:  StatusError (422) for another word.
        """
        value = self.query.get("fieldValidation") or "Warn"
        if value not in {"Strict", "Warn", "Ignore"}:
            known = ["", "Ignore", "Strict", "Warn"]
            raise self._bad_option(not_supported("fieldValidation", value, known))
        return value

    def integer(self, name: str) -> int | None:
        """An integer parameter; None when it is absent.

        Raises:  StatusError (400) for anything else.
        """
        value = self.query.get(name)
        if not value:
            return None
        try:
            return int(value)
        except ValueError as error:
            raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from error


def version_of(text: str) -> int:
    """A resourceVersion as a number.

    Raises:  StatusError (500, as a real server answers) for anything else.
    """
    if not (text.isascii() and text.isdigit()):
        raise StatusError(
            500,
            "",
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}":'
            " invalid syntax",
        )
    return int(text)
