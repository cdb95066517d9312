"""The tables of one Space, made when they are first asked for and kept in step with its rows."""

from global_sched.shared.placement.capacity.baseline import TableKey
from global_sched.shared.placement.capacity.cluster_counts import Board
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import Table, keep
from global_sched.shared.placement.request.compile import Task

_MOST_TASKS = 256


class Tables:
    """By shape, and by task for those who ask the same again: shapes are dear to compare."""

    def __init__(self, rows: Rows, board: Board) -> None:
        self._rows, self._board = rows, board
        self._by_key: dict[TableKey, Table] = {}
        self._by_task: dict[int, tuple[Task, list[Table]]] = {}
        """By identity of the task, which is kept with them."""

    def of(self, key: TableKey) -> Table:
        """The counts of one shape, in step with the rows."""
        table = self._by_key.get(key)
        if table is None:
            table = Table(self._rows, key, self._board)
            keep(self._by_key, key, table)
        else:
            table.follow()
        return table

    def of_task(self, task: Task) -> list[Table]:
        """The counts of a task's shapes, in step with the rows."""
        known = self._by_task.get(id(task))
        if known is None:
            if len(self._by_task) >= _MOST_TASKS:
                self._by_task.clear()
            tables = [self.of(unit.key) for unit in task.units]
            known = self._by_task[id(task)] = (task, tables)
        for table in known[1]:
            table.follow()
        return known[1]
