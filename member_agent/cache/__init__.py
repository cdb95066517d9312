"""The member cluster as the agent sees it: events in, units and room out.

Nodes, pods, PodGroups, HyperNodes, the owners of pods and the Directive become records at once;
use per node is kept as events come. Pure: no I/O, no clock, no log. What cannot be read is set
aside with a sentence (`ClusterCache.problems`) and never stops the rest.

Read `state.ClusterCache` first, then `units.units_of`.
"""

from member_agent.cache.gone import gone
from member_agent.cache.live_room import LiveRoom, RoomQuery, live_room
from member_agent.cache.pods import Kind
from member_agent.cache.read_owners import owner_type
from member_agent.cache.reading import ReadError
from member_agent.cache.records import (
    GroupRecord,
    Key,
    ManagedWorkload,
    NoteHolder,
    Notes,
    OwnerRecord,
    OwnerRef,
    PodRecord,
    PodUid,
    PodUnit,
    count_pods,
)
from member_agent.cache.room import owner_of, room_of
from member_agent.cache.state import ClusterCache, NodeRecord, owner_key
from member_agent.cache.surplus import last_first
from member_agent.cache.units import Root, find_root, gang_minimum, units_of

__all__ = [
    "ClusterCache",
    "GroupRecord",
    "Key",
    "Kind",
    "LiveRoom",
    "ManagedWorkload",
    "NodeRecord",
    "NoteHolder",
    "Notes",
    "OwnerRecord",
    "OwnerRef",
    "PodRecord",
    "PodUid",
    "PodUnit",
    "ReadError",
    "RoomQuery",
    "Root",
    "count_pods",
    "find_root",
    "gang_minimum",
    "gone",
    "last_first",
    "live_room",
    "owner_key",
    "owner_of",
    "owner_type",
    "room_of",
    "units_of",
]
