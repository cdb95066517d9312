"""The extra `demo`: libraries of the embedded federation alone, with a clear error when absent."""

from collections.abc import Iterator
from contextlib import contextmanager


class ExtraMissingError(ImportError):
    """A package of the extra `demo` is not installed; the message has the command."""


@contextmanager
def needs_demo_extra() -> Iterator[None]:
    """Imports in the block belong to the extra `demo`.

    Raises:  ExtraMissingError naming the package and the command that installs it.
    """
    try:
        yield
    except ImportError as error:
        raise ExtraMissingError(
            f"{error}: the embedded federation needs the extra `demo`;"
            " pip install 'global-sched[demo]'",
            name=error.name,
        ) from error
