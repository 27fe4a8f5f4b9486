"""Locks of threads."""

from __future__ import annotations

import threading
import time

import pytest
from conftest import Server, eventually, in_thread, python

import leash


def test_a_with_holds_it_to_its_end(client: leash.Client, server: Server, name: str) -> None:
    lock = client.lock(name)
    with lock as same:
        assert same is lock
        assert lock.held and lock.depth == 1 and server.holds(name)
    assert not lock.held and lock.depth == 0 and not server.holds(name)


def test_the_main_thread_and_others_exclude_each_other(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with lock:
        assert not in_thread(lambda: lock.held)
        assert not in_thread(lambda: lock.acquire(blocking=False))

    def hold_and_try_elsewhere() -> bool:
        with lock:
            return in_thread(lambda: lock.acquire(timeout=0))

    assert not in_thread(hold_and_try_elsewhere)
    assert lock.acquire(blocking=False)
    lock.release()


def test_a_thread_that_waits_gets_it_after_the_release(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    had_it = threading.Event()

    def take() -> None:
        with lock:
            had_it.set()

    waiter = threading.Thread(target=take)
    with lock:
        waiter.start()
        assert not had_it.wait(0.1)
    waiter.join()
    assert had_it.is_set()


@pytest.mark.parametrize("where", [lambda function: function(), in_thread])
def test_whoever_holds_it_nests(client: leash.Client, name: str, where) -> None:  # type: ignore[no-untyped-def]
    def nest() -> None:
        lock, same = client.lock(name), client.lock(name)
        with lock, same, lock:
            assert lock.depth == same.depth == 3
            assert lock.fence == same.fence > 0
        assert lock.depth == 0

    where(nest)


def test_acquire_says_false_at_the_end_of_its_time(client: leash.Client, other: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with other.lock(name):
        began = time.monotonic()
        assert lock.acquire(timeout=1) is False
        assert 1 <= time.monotonic() - began
        assert in_thread(lambda: lock.acquire(timeout=1)) is False
        assert lock.acquire(False) is False
    assert lock.acquire(timeout=5) is True
    lock.release()


def test_a_with_that_waited_in_vain_raises_timeout(client: leash.Client, other: leash.Client, name: str) -> None:
    with other.lock(name):
        with pytest.raises(leash.Timeout, match=name):
            with client.lock(name, wait=1):
                pytest.fail("it has it")
        with pytest.raises(TimeoutError):
            with client.lock(name, wait=0):
                pytest.fail("it has it")


def test_a_release_without_a_hold_is_refused(client: leash.Client, name: str) -> None:
    with pytest.raises(leash.NotHeld):
        client.lock(name).release()


def test_a_with_tells_that_the_lock_was_lost(client: leash.Client, other: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(leash.Lost, match=name):
        with lock:
            lock.break_()
            assert not lock.held
            with pytest.raises(leash.Lost):
                lock.acquire()
    with lock:
        assert lock.held


def test_an_exception_goes_on_though_the_lock_was_lost(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(ZeroDivisionError) as raised:
        with lock:
            lock.break_()
            raise ZeroDivisionError
    if hasattr(raised.value, "__notes__"):
        assert raised.value.__notes__[0].startswith("Lost: ")


def test_fences_grow(client: leash.Client, other: leash.Client, name: str) -> None:
    fences = []
    for lock in (client.lock(name), other.lock(name)) * 3:
        with lock:
            fences.append(lock.fence)
        assert lock.fence == 0
    assert fences == sorted(set(fences))


def test_times_are_in_seconds(server: Server, name: str) -> None:
    with leash.Client(server.uri, lease=40) as client:
        lock = client.lock(name)
        with lock:
            assert 35 < lock.remaining <= 40
            lock.extend(90)
            assert 85 < lock.remaining <= 90
        assert lock.remaining == 0
        lock.acquire(lease=5)
        assert 3 < lock.remaining <= 5
        lock.release()
        with client.lock(name, lease=20, no_renew=True):
            assert 15000 < int(server.ask("PTTL", f"leash:{{{name}}}")) <= 20000


def test_many_read_or_one_writes(client: leash.Client, other: leash.Client, name: str) -> None:
    reads, writes = client.lock(name, mode="read"), client.lock(name, mode="write")
    with reads, other.lock(name, mode="read"):
        assert not in_thread(lambda: other.lock(name, mode="write").acquire(False))
        with pytest.raises(leash.Deadlock):
            writes.acquire()
    with reads:
        writes.upgrade()
        assert not other.lock(name, mode="read").acquire(False)
        writes.release()
        with other.lock(name, mode="read"):
            pass
    with writes:
        assert reads.held and not in_thread(lambda: reads.acquire(False))


def test_options_that_are_wrong_are_refused(client: leash.Client, name: str) -> None:
    with pytest.raises(TypeError, match="leese"):
        client.lock(name, leese=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="owner"):
        client.lock(name, owner=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="mode"):
        client.lock(name, mode="reader")  # type: ignore[arg-type]
    with pytest.raises(leash.Invalid, match="lease_ms"):
        client.lock(name, lease=0.001)
    with pytest.raises(ValueError):
        client.lock(name, no_handoff=True, handoffs=3)
    with pytest.raises(ValueError):
        client.lock(name, handoffs=2**32 + 1)
    with pytest.raises(OverflowError):
        client.lock(name, lease=1e30)
    with pytest.raises(ValueError):
        client.lock(name).acquire(timeout=-2)
    with pytest.raises(ValueError):
        client.lock(name).acquire(False, 3)


def test_none_leaves_an_option_as_it_is(client: leash.Client, name: str) -> None:
    with client.lock(name, lease=None, mode=None) as lock:  # type: ignore[arg-type]
        assert lock.held


def test_a_name_is_any_text_without_nul(client: leash.Client, other: leash.Client) -> None:
    for name in ("größer", "two words", "\udcff", "{a}"):
        with client.lock(name) as lock:
            assert not other.lock(name).acquire(False)
            assert lock.inspect().name == name
    with pytest.raises(ValueError, match="null"):
        client.lock("a\0b")
    with pytest.raises(leash.Invalid):
        client.lock("")


def test_one_can_ask_who_has_it_and_who_waits(client: leash.Client, other: leash.Client, name: str) -> None:
    lock = client.lock(name)
    assert not lock.locked()
    assert lock.inspect().holder is None and lock.holders() == [] and lock.waiters() == []
    waiter = threading.Thread(target=lambda: other.lock(name).acquire(timeout=20))
    with lock:
        waiter.start()
        eventually(lambda: lock.inspect().waiting == 1)
        info = lock.inspect()
        assert (info.name, info.held, info.kind, info.fence, info.depth) == (name, True, "mutex", lock.fence, 1)
        assert info.holder is not None and info.holder.token == lock.token
        assert abs(info.held_since - time.time()) < 25 and 0 < info.remaining <= 30
        (hold,) = lock.holders()
        assert hold.who == info.holder
        (place,) = lock.waiters()
        assert place.position == 1 and place.who.token != lock.token
        assert lock.locked()
    waiter.join()


def test_a_scan_finds_what_is_held(client: leash.Client, name: str) -> None:
    with client.lock(name + "/a"), client.lock(name + "/b"), client.lock("else"):
        assert sorted({found.name for found in client.scan(name + "/*")}) == [name + "/a", name + "/b"]
        assert "else" in {found.name for found in client.scan()}


def test_a_client_counts_what_it_does(client: leash.Client, name: str) -> None:
    with client.lock(name):
        assert client.stats().holding == 1
    stats = client.stats()
    assert (stats.acquired, stats.released, stats.holding, stats.connected) == (1, 1, 0, True)


def test_a_hold_of_a_process_that_died_can_be_adopted(client: leash.Client, server: Server, name: str) -> None:
    lock = client.lock(name)
    program = """
import leash, sys
lock = leash.Client(sys.argv[1]).lock(sys.argv[2], fair=True)
lock.acquire()
print(lock.token, lock.fence, flush=True)
sys.stdin.read()
"""
    process = python(program, server.uri, name)
    assert process.stdout is not None
    token, fence = process.stdout.readline().split()
    process.kill()
    process.communicate()
    lock.adopt(token)
    assert lock.held and (lock.token, str(lock.fence)) == (token, fence)
    lock.release()
    with pytest.raises(leash.NotHeld):
        lock.adopt(token)
    with pytest.raises(leash.Invalid):
        lock.adopt("nonsense")


def test_times_are_counted_and_written_for_prometheus(server: Server, name: str) -> None:
    with leash.Client(server.uri, client_name="counted") as client:
        for _ in range(3):
            with client.lock(name, group="orders"), client.lock(name + "/b"):
                pass
        assert client.times("wait").count == 6 and client.times("wait", "orders").count == 3
        held = client.times("hold")
        assert 0 < held.p50 <= held.max <= held.sum < 60
        assert 'leash_acquired_total{client="counted"' in client.metrics()
        with pytest.raises(leash.Invalid):
            client.times("wait", "no such")
        with pytest.raises(ValueError):
            client.times("wait a moment")
