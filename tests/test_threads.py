from __future__ import annotations

import os
import threading

import pytest

from purtensor._threads import VARIABLE, chunks_of, for_each_chunk, thread_count
from purtensor.errors import InvalidOptionError


@pytest.mark.parametrize(("count", "size"), [(0, 4), (1, 1), (10, 3), (10, 100), (7, 7), (1000, 7)])
def test_chunks_of__cover_everything_once_and_evenly(count, size):
    chunks = chunks_of(count, size)
    assert [n for begin, end in chunks for n in range(begin, end)] == list(range(count))
    sizes = [end - begin for begin, end in chunks]
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_for_each_chunk__does_every_chunk_once(monkeypatch, threads):
    monkeypatch.setenv(VARIABLE, str(threads))
    done = []
    for_each_chunk(lambda number, begin, end: done.append((number, begin, end)), chunks_of(100, 9))
    assert sorted(done) == [(number, *chunk) for number, chunk in enumerate(chunks_of(100, 9))]


def test_for_each_chunk__works_on_two_threads_at_a_time(monkeypatch):
    monkeypatch.setenv(VARIABLE, "2")
    meeting = threading.Barrier(2, timeout=30)
    for_each_chunk(lambda *_: meeting.wait(), ((0, 1), (1, 2)))


@pytest.mark.parametrize("threads", [1, 3])
def test_for_each_chunk__raises_what_a_chunk_raised(monkeypatch, threads):
    monkeypatch.setenv(VARIABLE, str(threads))

    def fail(number, begin, end):
        if number == 3:
            raise ArithmeticError("chunk 3")

    with pytest.raises(ArithmeticError, match="chunk 3"):
        for_each_chunk(fail, chunks_of(50, 1))


def test_for_each_chunk__works_in_a_forked_child(monkeypatch):
    monkeypatch.setenv(VARIABLE, "2")
    done = []
    for_each_chunk(lambda *chunk: done.append(chunk), ((0, 1), (1, 2)))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        for_each_chunk(lambda *chunk: done.append(chunk), ((0, 1), (1, 2)))
        os.write(writing, bytes([len(done)]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1) == b"\x04"
    os.close(reading)
    os.close(writing)


def test_thread_count__is_asked_by_the_environment_or_has_the_processors(monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    assert thread_count() == 3
    monkeypatch.delenv(VARIABLE)
    assert 1 <= thread_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5"])
def test_thread_count__refuses_what_is_no_positive_number(monkeypatch, asked):
    monkeypatch.setenv(VARIABLE, asked)
    with pytest.raises(InvalidOptionError, match=f"{VARIABLE} must be a positive whole number, got '{asked}'"):
        thread_count()
