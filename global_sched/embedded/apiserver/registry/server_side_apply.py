"""Server-side apply: merge a configuration into the live object by ownership of fields."""

from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.codec.shape import Form, Shape
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.patch.field_sets import (
    Trie,
    difference,
    intersection,
    item_key,
    merge,
    of_config,
    of_value,
    paths,
)
from global_sched.embedded.apiserver.patch.managed_fields import (
    changes,
    make_entry,
    order,
    owned_view,
    without,
)
from global_sched.embedded.apiserver.registry.decoding import check_applied
from global_sched.embedded.apiserver.registry.update_strategy import check_uid, drops_of
from global_sched.embedded.apiserver.registry.writes import Writer, WriteResult
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.conversion import from_storage
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.apiserver.strategy.by_kind import rules_of
from global_sched.shared.json_values import copied

Json = Any
Obj = dict[str, Any]

_BEFORE: Final = "before-first-apply"


def merged(shape: Shape, live: Json, config: Json) -> Json:
    """The live value with the configuration laid over it; neither is changed."""
    if isinstance(live, dict) and isinstance(config, dict) and not shape.atomic:
        out = dict(live)
        for key, value in config.items():
            out[key] = merged(shape.child(key), live[key], value) if key in live else value
        return out
    if (
        isinstance(live, list)
        and isinstance(config, list)
        and shape.form is Form.LIST
        and not shape.atomic
    ):
        return _merged_list(shape, live, config)
    return config


def _merged_list(shape: Shape, live: list[Json], config: list[Json]) -> list[Json]:
    """Keyed items merge; new ones follow the order of the configuration."""
    wanted = {item_key(shape, item): item for item in config}
    item_shape = shape.item()
    out: list[Json] = []
    for item in live:
        key = item_key(shape, item)
        if key in wanted:
            out.append(merged(item_shape, item, wanted.pop(key)))
        else:
            out.append(item)
    return [*out, *wanted.values()]


def removed(shape: Shape, value: Json, gone: Trie) -> Json:
    """The value without the paths of a set; containers that are no members stay."""
    if isinstance(value, dict):
        out: Obj = {}
        for key, part in value.items():
            trie = gone.get("f:" + key)
            if trie is None:
                out[key] = part
            elif trie and "." not in trie:
                out[key] = removed(shape.child(key), part, trie)
        return out
    if isinstance(value, list):
        items: list[Json] = []
        for part in value:
            trie = gone.get(item_key(shape, part)) if not shape.atomic else None
            if trie is None:
                items.append(part)
            elif trie and "." not in trie:
                items.append(removed(shape.item(), part, trie))
        return items
    return value


def _owner_text(entry: Obj) -> str:
    text = field_errors.spell(entry.get("manager", ""))
    if entry.get("subresource"):
        text += f" with subresource {field_errors.spell(entry['subresource'])}"
    if entry.get("operation") == "Update":
        text += f" using {entry.get('apiVersion', '')}"
    return text


def conflict_failure(clashes: list[tuple[Obj, Trie]]) -> StatusError:
    """409 that names every field and its owner."""
    causes = []
    owners: list[str] = []
    lines = sorted((_owner_text(entry), paths(trie)) for entry, trie in clashes)
    total = sum(len(fields) for _, fields in lines)
    for owner, fields in lines:
        causes += [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {owner}",
                "field": field,
            }
            for field in fields
        ]
        listed = "\n".join(f"- {field}" for field in fields)
        owners.append(f"conflicts with {owner}:\n{listed}")
    if total == 1:
        owner, fields = lines[0]
        message = f"Apply failed with 1 conflict: conflict with {owner}: {fields[0]}"
    else:
        message = f"Apply failed with {total} conflicts: " + "\n".join(owners)
    return StatusError(409, "Conflict", message, details={"causes": causes})


class Applier:
    """Apply patches of one server."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def apply(self, call: RequestInfo, record: Record | None, config: Json) -> WriteResult:
        """Apply a configuration; creates the object when it is absent."""
        if not call.query.get("fieldManager"):
            cause = field_errors.required("fieldManager", "is required for apply patch")
            raise status_error.invalid("PatchOptions", "meta.k8s.io", "", [cause])
        config = check_applied(call, config)
        if record is None:
            if call.subresource:
                raise status_error.not_found(call.served.plural, call.served.group, call.name)
            return self._create(call, config)
        return self._update(call, record, config)

    def _fields(self, call: RequestInfo, config: Obj) -> Trie:
        drop = drops_of(call.served, call.subresource)
        trie = of_config(call.served.shape, owned_view(config, drop))
        meta = trie.get("f:metadata")
        if meta is not None and not meta:
            del trie["f:metadata"]
        return trie

    def _entry(self, call: RequestInfo, trie: Trie) -> Obj:
        return make_entry(
            call.manager,
            "Apply",
            call.served.api_version,
            self.writer.backend.now_text(),
            call.subresource,
            trie,
        )

    def _create(self, call: RequestInfo, config: Obj) -> WriteResult:
        trie = self._fields(call, config)
        config["metadata"]["name"] = call.name
        if call.served.namespaced:
            config["metadata"]["namespace"] = call.namespace
        obj = self.writer.finish_defaults(call.served, config)
        obj["metadata"]["managedFields"] = [self._entry(call, trie)]
        return self.writer.insert(call, obj)

    def _update(self, call: RequestInfo, record: Record, config: Obj) -> WriteResult:
        served = call.served
        live = from_storage(served, record.load())
        check_uid(call, record, config)
        version = config["metadata"].get("resourceVersion")
        if version and version != str(record.version):
            raise status_error.modified(served.plural, served.group, record.name)
        entries: list[Obj] = live["metadata"].get("managedFields") or []
        if not entries:
            entries = self._unowned(call, live)
        mine, others = self._split(call, entries)
        wanted = self._fields(call, config)
        new = self._merge(call, live, config, difference(mine, wanted), others)
        rules_of(served.collection).prepare_update(self.writer.backend, new, live)
        self.writer.carry_over(call, live, new)
        changed, gone = changes(served.shape, live, new, drops_of(served, call.subresource))
        others = self._settle(call, others, changed, gone)
        entry = self._entry(call, wanted)
        new["metadata"]["managedFields"] = self._kept(entries, order([*others, entry]))
        self.writer.bump_generation(call, live, new)
        return self.writer.replace(call, record, live, new)

    @staticmethod
    def _kept(before: list[Obj], after: list[Obj]) -> list[Obj]:
        """The entries, with their old times where nothing else changed."""

        def bare(entry: Obj) -> Obj:
            return {key: value for key, value in entry.items() if key != "time"}

        return [next((old for old in before if bare(old) == bare(entry)), entry) for entry in after]

    def _unowned(self, call: RequestInfo, live: Obj) -> list[Obj]:
        """An object without managed fields belongs to its last writer."""
        trie = of_value(call.served.shape, owned_view(live, frozenset({"status"})))
        trie.pop(".", None)
        meta = trie.get("f:metadata")
        if meta is not None:
            meta.pop(".", None)
            if not meta:
                del trie["f:metadata"]
        if not trie:
            return []
        time = live["metadata"].get("creationTimestamp", "")
        return [make_entry(_BEFORE, "Update", call.served.api_version, time, "", trie)]

    def _split(self, call: RequestInfo, entries: list[Obj]) -> tuple[Trie, list[Obj]]:
        mine: Trie = {}
        others = []
        for entry in entries:
            if (
                entry.get("manager") == call.manager
                and entry.get("operation") == "Apply"
                and entry.get("subresource", "") == call.subresource
            ):
                mine = merge(mine, entry.get("fieldsV1") or {})
            else:
                others.append(entry)
        return mine, others

    def _merge(
        self, call: RequestInfo, live: Obj, config: Obj, dropped: Trie, others: list[Obj]
    ) -> Obj:
        """The live object with the configuration in, and what its manager no longer names out."""
        served = call.served
        for entry in others:
            dropped = difference(dropped, entry.get("fieldsV1") or {})
        overlay = {key: value for key, value in config.items() if key not in {"kind", "apiVersion"}}
        drop = drops_of(served, call.subresource)
        overlay = {
            key: value for key, value in overlay.items() if key not in drop or key == "metadata"
        }
        new = merged(served.shape, live, overlay)
        if dropped:
            new = removed(served.shape, new, dropped)
        return self.writer.finish_defaults(served, _own_copy(new))

    def _settle(self, call: RequestInfo, others: list[Obj], changed: Trie, gone: Trie) -> list[Obj]:
        """Conflicts with the other managers, refused or (forced) taken over."""
        clashes = []
        touched = merge(changed, gone)
        for entry in others:
            shared = intersection(entry.get("fieldsV1") or {}, touched)
            if shared:
                clashes.append((entry, shared))
        if clashes and not call.flag("force"):
            raise conflict_failure(clashes)
        for _, shared in clashes:
            others = without(others, shared)
        return without(others, gone)


def _own_copy(value: Obj) -> Obj:
    """A copy whose containers may be changed without touching the live object."""
    result: Obj = copied(value)
    return result
