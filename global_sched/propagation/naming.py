"""Names that Karmada gives: bindings, Works, namespaces, dependency labels."""

from typing import Final

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
DEPENDED_BY: Final = "resourcebinding.karmada.io/depended-by-"
RESERVED: Final = ("karmada-", "kube-")


def binding_name(kind: str, name: str) -> str:
    """A template's binding: `<name>-<kind>` in lower case.

    Kinds of one name in two API groups share it (a batch Job and a Volcano Job).
    """
    return f"{name}-{kind}".lower().replace(":", ".")


def work_name(kind: str, name: str, namespace: str) -> str:
    """A manifest's Work: its name, and a hash of namespace, name and kind."""
    safe = name.lower().replace(":", ".")
    parts = [namespace, safe, kind] if namespace else [safe, kind]
    return f"{safe}-{short_hash('-'.join(parts).lower())}"


def depended_by_label(namespace: str, name: str) -> str:
    """The label on an attached binding for one of the bindings that need it."""
    return DEPENDED_BY + short_hash(f"{namespace}-{name}" if namespace else name)


def short_hash(text: str) -> str:
    """FNV-1a, 32 bits, spelled with letters that form no words."""
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(value))


def is_reserved(namespace: str) -> bool:
    """Whether nothing in this namespace is ever propagated."""
    return namespace.startswith(RESERVED)


def is_propagated_namespace(namespace: str) -> bool:
    """Whether the namespace itself is made in every member."""
    return namespace != "default" and not is_reserved(namespace)
