"""The same call on many items with any executor, with the same results; a failure affects one item only."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar

from purtensor.errors import InvalidOptionError
from purtensor.projection.progress import members_progress

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failure:
    """A member without a result.

    Attributes
    ----------
    member
        Its number, counted from 0.
    error
        What was raised; a NotConvergedError carries the projection so far, an InfeasibleError the diagnosis.
    traceback
        Where, as text.
    """

    member: int
    error: Exception
    traceback: str = field(repr=False)


@dataclass(slots=True)
class Gathered(Generic[Result]):
    """What became of many items.

    Attributes
    ----------
    results
        By the number of the item.
    failures
        Those that failed, in order.
    interrupted
        Whether Ctrl-C came before all had ended.
    """

    results: dict[int, Result] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False


def gather(
    call: Callable[[Item], Result], items: Sequence[Item], executor: Any, *, progress: bool, fails: bool = False
) -> Gathered[Result]:
    """Return what became of the items, until Ctrl-C comes, here or in a worker; the first error is raised if `fails`.

    Raises
    ------
    InvalidOptionError
        As `outcomes`.
    """
    found: Gathered[Result] = Gathered()
    try:
        with members_progress(progress, len(items)) as report, closing(outcomes(call, items, executor)) as ended:
            for number, outcome in ended:
                if not isinstance(outcome, Failure):
                    found.results[number] = outcome
                elif fails:
                    raise outcome.error
                else:
                    found.failures.append(outcome)
                    # Ctrl-C that a worker heard ends the whole call, as it would have here
                    found.interrupted = getattr(outcome.error, "interrupted", False)
                    if found.interrupted:
                        break
                report(failed=len(found.failures))
    except KeyboardInterrupt:
        found.interrupted = True
    found.failures.sort(key=lambda failure: failure.member)
    return found


def outcomes(
    call: Callable[[Item], Result], items: Sequence[Item], executor: Any
) -> Generator[tuple[int, Result | Failure], None, None]:
    """Yield what became of each item, with its number, in the order in which they end.

    Parameters
    ----------
    call
        Other processes must be able to unpickle it, and the items.
    executor
        None (this process, one after the other); a number of joblib workers, or a `joblib.Parallel`; anything with
        `submit`, such as the executors of concurrent.futures and a Client of dask.distributed.

    Raises
    ------
    InvalidOptionError
        Another executor.
    """
    # each item has its number with it, as executors return in any order
    work = [(call, number, item) for number, item in enumerate(items)]
    if executor is None:
        yield from (_try(*one) for one in work)
    elif isinstance(executor, int) and not isinstance(executor, bool) and executor != 0:
        import joblib  # optional, and not needed for anything else

        parallel = joblib.Parallel(n_jobs=executor, return_as="generator_unordered")
        yield from _all_told(lambda: parallel(joblib.delayed(_try)(*one) for one in work), len(work))
    elif hasattr(executor, "submit"):
        yield from _submit(work, executor)
    elif callable(executor) and hasattr(executor, "n_jobs"):
        yield from _all_told(lambda: executor((_try, one, {}) for one in work), len(work))
    else:
        kind = executor if isinstance(executor, int) else type(executor).__qualname__
        raise InvalidOptionError(
            "executor must be None, a number of workers, a joblib.Parallel, or an object with a submit, such as those "
            f"of concurrent.futures and a Client of dask, got {kind}"
        )


def _all_told(parallel: Callable[[], Iterable[tuple[int, Any]]], count: int) -> Iterator[tuple[int, Any]]:
    """Yield what joblib yields; where it gives up, as when a worker has ended, all that is left has failed."""
    # joblib says that it gave up, not on which members
    left = set(range(count))
    try:
        for number, outcome in parallel():
            left.discard(number)
            yield number, outcome
    except Exception as error:
        for number in sorted(left):
            yield number, Failure(number, error, traceback.format_exc())


def _submit(work: list[Any], executor: Any) -> Iterator[tuple[int, Any]]:
    ours = hasattr(executor, "gather")  # a Client of dask.distributed: the same call may be made twice
    futures: dict[Any, int] = {}
    try:
        for one in work:
            try:
                futures[executor.submit(_try, *one, **({"pure": False} if ours else {}))] = one[1]
            except Exception as error:  # it takes nothing any more, as when a worker has ended before
                yield one[1], Failure(one[1], error, traceback.format_exc())
        for future in _end(list(futures), executor if ours else None):
            try:
                yield future.result()
            except Exception as error:  # the worker itself has ended
                yield futures[future], Failure(futures[future], error, traceback.format_exc())
    finally:
        for future in futures:
            future.cancel()


def _end(futures: list[Any], client: Any) -> Iterable[Any]:
    if client is None:
        return as_completed(futures)
    # installed, where there is a Client of it
    ended: Iterable[Any] = import_module("distributed").as_completed(futures)
    return ended


def _try(call: Callable[[Any], Any], number: int, item: Any) -> tuple[int, Any]:
    """Return an item's number with what the call gave for it, or with why there is nothing."""
    try:
        return number, call(item)
    except Exception as error:  # whatever a member meets is its own
        return number, Failure(number, error, traceback.format_exc())
