"""`python -m tools.scenarios FILE …`, or `--convert FOLDER FILE` to write Volcano's as suites."""

import logging
import sys
from pathlib import Path

import click
import structlog

from tools.scenarios.cases import read
from tools.scenarios.written import write_suites


@click.command(help=__doc__)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--convert", type=click.Path(path_type=Path), help="Write suites into this folder.")
def main(files: tuple[Path, ...], convert: Path | None) -> None:
    """One line per case; exit 1 when one failed, 2 when there is nothing to run."""
    cases = [case for path in files for case in read(path)]
    if not cases:
        click.echo('no cases: make scenarios FILES="a.json b.yaml"', err=True)
        sys.exit(2)
    if convert is not None:
        for path in write_suites(convert, cases):
            click.echo(f"wrote {path}")
        return
    # Lines are for cases: the programs' own logs stay out, apart from what went wrong.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    failed = unproven = 0
    for case in cases:
        result = case.run()
        failed += not result.passed
        unproven += result.unproven
        click.echo(result.line())
    click.echo(f"{unproven} answers not proven within the search limit")
    click.echo(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
