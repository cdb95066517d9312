"""Sets of field paths, in the form `managedFields` stores them.

A set is a trie of dicts: keys are `f:name`, `k:{...}`, `v:value` and `.`; an empty dict is a
member, a dict with `.` is a member that has children. `compare` finds what a write changed.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver.codec.shape import Form, Shape

Trie = dict[str, Any]

_canonical: Final = msgspec.json.Encoder(order="sorted").encode


_ABSENT: Final = object()


def _granular(shape: Shape, value: object) -> bool:
    """Whether the value's parts are owned one by one."""
    if isinstance(value, dict):
        return not shape.atomic and shape.form in {Form.OBJECT, Form.ANY}
    if isinstance(value, list):
        return shape.form is Form.LIST and not shape.atomic and shape.list_type != "atomic"
    return False


def item_key(shape: Shape, item: object) -> str:
    """The path element of a list item: by its keys, or by its value in a set."""
    if shape.list_type == "map" and isinstance(item, dict):
        item_shape = shape.item()
        key = {
            name: item.get(name, _key_default(item_shape, name))
            for name in sorted(shape.keys)
            if name in item or _key_default(item_shape, name) is not None
        }
        return "k:" + _canonical(key).decode()
    return "v:" + _canonical(item).decode()


def _key_default(shape: Shape, name: str) -> object:
    # The protocol of ports is the one list key that a real schema gives a default.
    return "TCP" if name == "protocol" and "containerPort" in shape.fields else None


def parts(shape: Shape, value: Any) -> dict[str, tuple[Shape, Any]]:
    """The parts of a granular value by path element."""
    if isinstance(value, dict):
        return {"f:" + name: (shape.child(name), part) for name, part in value.items()}
    item = shape.item()
    found: dict[str, tuple[Shape, Any]] = {}
    for part in value:
        found.setdefault(item_key(shape, part), (item, part))
    return found


def of_value(shape: Shape, value: Any) -> Trie:
    """Every path in a value, the containers included."""
    if not _granular(shape, value) or not value:
        return {}
    trie: Trie = {".": {}}
    for key, (part_shape, part) in parts(shape, value).items():
        trie[key] = of_value(part_shape, part)
    return trie


def of_config(shape: Shape, value: Any, *, keyed_item: bool = False) -> Trie:
    """The paths an applied configuration names: leaves, empty containers and keyed items."""
    if not _granular(shape, value) or not value:
        return {}
    trie: Trie = {".": {}} if keyed_item else {}
    for key, (part_shape, part) in parts(shape, value).items():
        trie[key] = of_config(part_shape, part, keyed_item=key.startswith("k:"))
    return trie


def compare(shape: Shape, old: Any, new: Any, changed: Trie, removed: Trie) -> None:
    """Fill `changed` with the paths added or modified, and `removed` with those gone."""
    if isinstance(new, dict):
        _compare_maps(shape, old, new, changed, removed)
        return
    old_parts, new_parts = parts(shape, old), parts(shape, new)
    for key, (part_shape, part) in new_parts.items():
        if key not in old_parts:
            changed[key] = of_value(part_shape, part)
            continue
        before = old_parts[key][1]
        if not _same(before, part):
            _compare_part(part_shape, before, part, key, changed, removed)
    for key, (part_shape, part) in old_parts.items():
        if key not in new_parts:
            removed[key] = of_value(part_shape, part)


def _compare_maps(
    shape: Shape, old: dict[str, Any], new: dict[str, Any], changed: Trie, removed: Trie
) -> None:
    for name, part in new.items():
        before = old.get(name, _ABSENT)
        if before is part:
            continue
        if before is _ABSENT:
            changed["f:" + name] = of_value(shape.child(name), part)
        elif not _same(before, part):
            _compare_part(shape.child(name), before, part, "f:" + name, changed, removed)
    for name, part in old.items():
        if name not in new:
            removed["f:" + name] = of_value(shape.child(name), part)


def _same(before: Any, after: Any) -> bool:
    return type(before) is type(after) and before == after


def _compare_part(shape: Shape, old: Any, new: Any, key: str, changed: Trie, removed: Trie) -> None:
    new_granular, old_granular = _granular(shape, new), _granular(shape, old)
    if new_granular and (old_granular or old is None) and type(old) in {type(new), type(None)}:
        inside: Trie = {}
        gone: Trie = {}
        empty: Any = {} if isinstance(new, dict) else []
        compare(shape, empty if old is None else old, new, inside, gone)
        if inside:
            changed[key] = inside
        if gone:
            removed[key] = gone
    elif old_granular and new is None:
        changed[key] = {}
        gone = of_value(shape, old)
        gone.pop(".", None)
        if gone:
            removed[key] = {**gone}
    else:
        changed[key] = of_value(shape, new)


def is_member(trie: Mapping[str, Any]) -> bool:
    """Whether the node itself is in the set."""
    return not trie or "." in trie


def union(one: Trie, two: Trie) -> Trie:
    """Paths in either set."""
    if not one or not two:
        if one == two:
            return {}
        filled = one or two
        return filled if "." in filled else {".": {}, **filled}
    out = dict(one)
    for key, child in two.items():
        mine = out.get(key)
        out[key] = child if mine is None else union(mine, child)
    return out


def merge(one: Trie, two: Trie) -> Trie:
    """Union of two sets whose roots are no members (an empty root is the empty set)."""
    if not one or not two:
        return one or two
    return union(one, two)


def minus(one: Trie, two: Trie) -> Trie | None:
    """Paths of the first set that are not in the second; None when none are left."""
    out: Trie = {}
    if not one:
        return None if is_member(two) else {}
    for key, child in one.items():
        other = two.get(key)
        if key == ".":
            if "." not in two and two:
                out["."] = {}
        elif other is None:
            out[key] = child
        else:
            left = minus(child, other)
            if left is not None:
                out[key] = left
    if not out:
        return None
    if set(out) == {"."}:
        return {}
    return out


def both(one: Trie, two: Trie) -> Trie | None:
    """Paths in both sets; None when there are none."""
    out: Trie = {}
    if is_member(one) and is_member(two):
        out["."] = {}
    for key, child in one.items():
        if key == "." or key not in two:
            continue
        shared = both(child, two[key])
        if shared is not None:
            out[key] = shared
    if not out:
        return None
    return {} if set(out) == {"."} else out


def difference(one: Trie, two: Trie) -> Trie:
    """`minus` for sets whose roots are no members."""
    if not two:
        return one
    out: Trie = {}
    for key, child in one.items():
        other = two.get(key)
        left = child if other is None else minus(child, other)
        if left is not None:
            out[key] = left
    return out


def intersection(one: Trie, two: Trie) -> Trie:
    """`both` for sets whose roots are no members."""
    out: Trie = {}
    for key, child in one.items():
        if key in two:
            shared = both(child, two[key])
            if shared is not None:
                out[key] = shared
    return out


def overlaps(one: Trie, two: Trie) -> bool:
    """Whether two sets share a path; the roots do not count."""
    for key, child in two.items():
        other = one.get(key)
        if other is None or key == ".":
            continue
        if is_member(other) and is_member(child):
            return True
        if overlaps(other, child):
            return True
    return False


def covers(one: Trie, two: Trie) -> bool:
    """Whether the first set has every path of the second; the roots do not count."""
    for key, child in two.items():
        if key == ".":
            continue
        other = one.get(key)
        if other is None or (is_member(child) and not is_member(other)):
            return False
        if child and not covers(other, child):
            return False
    return True


def _spell(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return "." + text
    value = msgspec.json.decode(text)
    if kind == "k":
        inside = ",".join(f"{k}={msgspec.json.encode(v).decode()}" for k, v in value.items())
        return f"[{inside}]"
    return f"[={text}]"


def paths(trie: Trie, prefix: str = "") -> list[str]:
    """Every member as a readable path: `.spec.ports[name="http"].port`, members first."""
    found: list[str] = []
    for key in sorted(trie):
        if key == ".":
            continue
        where = prefix + _spell(key)
        child = trie[key]
        if is_member(child):
            found.append(where)
        found += paths(child, where)
    return found
