"""The graph of one pass: for each block one task, which also computes the block, and a tree that combines the results.

Each task costs a distributed scheduler and its workers one to two milliseconds. What only one block needs, such as
reading its rows and taking the labels out of them, is therefore computed in the task of its block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import uuid4

FAN_IN = 8  # partial results that are combined at a time
SHARED = -1  # instead of the number of a block: not of one block alone


class BlockTasks(NamedTuple):
    """The tasks that only one block needs, and its values: references to results, or the values themselves."""

    own: list[Any]
    values: tuple[Any, ...]


class BlockGraph:
    """The graph of delayed blocks of rows, (X, y, weight, offset) each: what several need, what each alone."""

    def __init__(self, blocks: list[tuple[Any, ...]]):
        from dask.task_spec import TaskRef

        graph = _joined(blocks)
        owner = _owners(graph, [[each.key for each in block if _is_delayed(each)] for block in blocks])
        self.shared = {key: graph[key] for key, number in owner.items() if number == SHARED}
        own: list[list[Any]] = [[] for _ in blocks]
        for key, number in owner.items():
            if number != SHARED:
                own[number].append(graph[key])
        values = [tuple(TaskRef(each.key) if _is_delayed(each) else each for each in block) for block in blocks]
        self.blocks = [BlockTasks(*each) for each in zip(own, values, strict=True)]

    def of_pass(self, function: Callable, combine: Callable, task: Any) -> Any:
        """combine([...]) over function(*values, task) of every block, delayed.

        The task is part of the graph, so that a worker that replaces a lost one gets it as well.
        """
        from dask.delayed import Delayed
        from dask.task_spec import DataNode, List, Task, TaskRef

        unique = uuid4().hex
        sent = DataNode(f"task-{unique}", task)
        graph, level = {**self.shared, sent.key: sent}, []
        for number, (own, values) in enumerate(self.blocks):
            last = Task((f"{function.__name__}-{unique}", number), function, *values, TaskRef(sent.key))
            graph[last.key] = Task.fuse(*own, last) if own else last
            level.append(last.key)
        while len(level) > 1:
            parts = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            level = [(f"combined-{unique}", len(graph) + i) for i in range(len(parts))]
            for key, part in zip(level, parts, strict=True):
                graph[key] = Task(key, combine, List(*map(TaskRef, part)))
        return Delayed(level[0], graph)


def _is_delayed(value: Any) -> bool:
    return callable(getattr(type(value), "__dask_graph__", None))


def _joined(blocks: list[tuple[Any, ...]]) -> dict[Any, Any]:
    """The graphs of all blocks as one; blocks of one collection have the same graph."""
    graphs = {id(each.dask): each.dask for block in blocks for each in block if _is_delayed(each)}
    return {key: node for graph in graphs.values() for key, node in dict(graph).items()}


def _owners(graph: dict[Any, Any], needed: list[list[Any]]) -> dict[Any, int]:
    """For each task that blocks need the number of the block that alone needs it, or SHARED."""
    from dask.core import get_dependencies
    from dask.task_spec import GraphNode

    owner: dict[Any, int] = {}
    for number, keys in enumerate(needed):
        waiting = [(key, number) for key in keys]
        while waiting:
            key, asked = waiting.pop()
            if key not in graph or owner.get(key) in (asked, SHARED):
                continue
            node = graph[key]
            # A future, or a task in the form that Dask had before its version 2025, stays as it is.
            owner[key] = asked if key not in owner and isinstance(node, GraphNode) else SHARED
            waiting += [(other, owner[key]) for other in get_dependencies(graph, key)]
    return owner
