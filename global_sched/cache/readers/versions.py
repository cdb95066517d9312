"""resourceVersions in order: whole numbers, as every API server since 1.35 promises."""


def at_least(version: str, wanted: str) -> bool:
    """Whether a version is the wanted one or a later one.

    Unequal texts that are no numbers are taken as later, because waiting for ever would be worse.
    """
    if version == wanted or not wanted:
        return True
    if version.isdigit() and wanted.isdigit():
        return int(version) >= int(wanted)
    return True


def older(version: str, known: str) -> bool:
    """Whether a version is certainly older than one that is known."""
    return version.isdigit() and known.isdigit() and int(version) < int(known)
