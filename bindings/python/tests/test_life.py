"""The life of clients and handles: closing, forgetting, forking, and the exit of the interpreter."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import weakref
from typing import Any

import leash
import pytest
from conftest import PATIENCE, Server, ended, eventually, python

from leash import core


def test_a_client_that_is_closed_answers_so(server: Server, name: str) -> None:
    client = leash.Client(server.uri)
    lock = client.lock(name)
    lock.acquire()
    semaphore, both = client.semaphore(name + "/s", 1), client.multi([name])
    permit = semaphore.acquire()
    latch, barrier, watch = client.latch(name + "/l", 1), client.barrier(name + "/b", 2), client.watch_leader(name)
    changed = lock.condition("changed")
    client.close()
    client.close()
    assert client.closed and not server.holds(name) and not lock.held and not permit.held
    for call in (
        lock.acquire,
        lock.release,
        lock.inspect,
        both.acquire,
        semaphore.acquire,
        permit.release,
        latch.wait,
        latch.count_down,
        barrier.wait,
        watch.__next__,
        changed.notify,
        client.stats,
        client.scan,
        lambda: client.lock(name),
        lambda: client.semaphore(name, 1),
    ):
        with pytest.raises(leash.Closed):
            call()  # type: ignore[operator]
    assert client.uri.startswith("unix://") and "closed" in repr(client)


def test_closing_wakes_who_waits(server: Server, client: leash.Client, name: str) -> None:
    closing = leash.Client(server.uri)
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            closing.lock(name).acquire()
        except leash.LeashError as error:
            raised.append(error)

    waiter = threading.Thread(target=wait)
    with client.lock(name) as lock:
        waiter.start()
        eventually(lambda: lock.inspect().waiting == 1)
        closing.close()
        waiter.join()
    assert [type(error) for error in raised] == [leash.Closed]


def test_threads_may_close_at_once(server: Server) -> None:
    client = leash.Client(server.uri)
    threads = [threading.Thread(target=client.close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.closed


def test_calls_meet_a_client_that_closes_meanwhile(server: Server, name: str) -> None:
    client = leash.Client(server.uri)
    begun = threading.Barrier(5)
    answers: list[type] = []

    def call() -> None:
        begun.wait()
        try:
            while True:
                client.stats()
                client.lock(name)
        except leash.LeashError as error:
            answers.append(type(error))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    client.close()
    for thread in threads:
        thread.join()
    assert answers == [leash.Closed] * 4


def test_what_is_closed_is_still_memory_for_late_calls(server: Server) -> None:
    program = """
import leash, sys
client = leash.Client(sys.argv[1])
client.close()
for call in client.stats, client.scan, lambda: client.lock("a"), lambda: client.semaphore("a", 1):
    try:
        call()
    except leash.Closed:
        print("closed")
"""
    nonsense = "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"  # is what freed memory becomes at once
    assert ended(python(program, server.uri, GLIBC_TUNABLES=nonsense)) == "closed\n" * 4


def test_a_client_that_was_forgotten_closes_itself(server: Server, name: str) -> None:
    with pytest.warns(ResourceWarning, match="not closed"):
        leash.Client(server.uri).lock(name).acquire()
        gc.collect()
    eventually(lambda: not server.holds(name))


def test_a_lock_keeps_its_client_open(server: Server, name: str) -> None:
    lock = leash.Client(server.uri).lock(name)
    gc.collect()
    with lock:
        assert lock.held
    lock.client.close()


def test_handles_are_freed_with_what_has_them(client: leash.Client, name: str) -> None:
    registry = weakref.finalize._registry  # type: ignore[attr-defined]
    gc.collect()
    before = len(registry)
    locks = [client.lock(name + str(i)) for i in range(100)]
    both, semaphore = client.multi(locks[:2]), client.semaphore(name, 1)
    others = client.latch("l", 1), client.barrier("b", 2), client.watch_leader(name), locks[0].condition("changed")
    assert len(registry) == before + 2 * 100 + 2 + 1 + 3 + 2
    del locks, both, semaphore, others
    gc.collect()
    assert len(registry) == before


def test_a_set_is_freed_before_its_locks_also_in_a_circle(client: leash.Client, name: str) -> None:
    for i in range(50):
        both = client.multi([f"{name}/{i}/a", f"{name}/{i}/b"])
        both.circle = both  # type: ignore[attr-defined]
    del both
    gc.collect()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 says so of threads, which leash has
def test_a_forked_child_is_told_so_and_opens_its_own(client: leash.Client, server: Server, name: str) -> None:
    lock = client.lock(name)
    lock.acquire()
    child = os.fork()
    if child == 0:
        try:
            assert not lock.held
            for call in (lock.acquire, lock.release, client.stats, lambda: client.lock("other")):
                with pytest.raises(leash.Forked):
                    call()  # type: ignore[operator]
            client.close()
            with leash.Client(server.uri) as own:
                assert not own.lock(name).acquire(False)
                assert not own.lock(name).acquire(timeout=1)
                with own.lock(name + "/own"):
                    pass
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lock.held
    lock.release()


def test_a_signal_handler_may_close_what_is_being_closed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = leash.Client(server.uri)
    close = core._close

    def interrupted(*args: Any) -> None:
        client.close()
        close(*args)

    monkeypatch.setattr(core, "_close", interrupted)
    client.close()
    assert client.closed


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_closes_what_another_thread_was_about_to_use(client: leash.Client) -> None:
    held, over = threading.Event(), threading.Event()

    def use_it() -> None:
        with client._core._mutex:
            held.set()
            over.wait()

    threading.Thread(target=use_it).start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        client.close()
        os._exit(0)
    over.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_last_object_of_all_may_use_a_lock(server: Server, name: str) -> None:
    program = """
import leash, sys
lock = leash.Client(sys.argv[1]).lock(sys.argv[2])
with lock:
    pass
class Last:
    def __del__(self, lock=lock, Closed=leash.Closed, print=print):
        try:
            lock.acquire()
        except Closed:
            print("closed")
sys.modules["last"] = Last()
"""
    assert ended(python(program, server.uri, name)) == "closed\n"


AT_EXIT = """
import leash, sys, threading
uri, name, how = sys.argv[1:]
client = leash.Client(uri, on_event=lambda event: None, on_log=lambda level, line: None)
lock = client.lock(name)
lock.acquire()
if how == "waiters":
    threading.excepthook = lambda _: None  # they are told that the client is closed
    for _ in range(8):
        threading.Thread(target=client.lock(name).acquire, daemon=True).start()
    while client.stats().waiting < 8:
        pass
if how == "exception":
    sys.excepthook = lambda *_: None
    raise ZeroDivisionError
if how == "collected":
    lock.client = client.circle = client
    del lock, client
"""


@pytest.mark.parametrize("how", ["plain", "waiters", "exception", "collected"])
def test_at_its_exit_a_program_releases_what_it_holds(server: Server, name: str, how: str) -> None:
    ended(python(AT_EXIT, server.uri, name, how), status=1 if how == "exception" else 0)
    assert not server.holds(name)


def test_an_atexit_function_may_still_use_locks(server: Server, name: str) -> None:
    program = """
import sys
def last():
    with client.lock(sys.argv[2]) as lock:
        print(lock.held)
    client.close()
import leash, atexit
atexit.register(last)
client = leash.Client(sys.argv[1])
"""
    assert ended(python(program, server.uri, name)) == "True\n"


def test_ctrl_c_ends_a_program_that_waits(client: leash.Client, server: Server, name: str) -> None:
    program = """
import leash, sys
try:
    with leash.Client(sys.argv[1]) as client, client.lock(sys.argv[2]):
        pass
except KeyboardInterrupt:
    print("interrupted")
"""
    with client.lock(name) as lock:
        process = python(program, server.uri, name)
        eventually(lambda: lock.inspect().waiting == 1)
        process.send_signal(2)
        assert ended(process) == "interrupted\n"
        eventually(lambda: lock.inspect().waiting == 0)


def test_locks_are_used_by_many_threads_at_once(client: leash.Client, other: leash.Client, name: str) -> None:
    inside, overlaps, turns = 0, 0, 0

    def work(lock: leash.Lock) -> None:
        nonlocal inside, overlaps, turns
        for _ in range(50):
            with lock:
                overlaps += inside
                inside += 1
                turns += 1
                inside -= 1

    locks = [client.lock(name), other.lock(name)]
    threads = [threading.Thread(target=work, args=(locks[i % 2],)) for i in range(8)]
    for thread in threads:
        thread.start()
    work(locks[0])
    for thread in threads:
        thread.join(PATIENCE)
    assert (overlaps, turns) == (0, 9 * 50)
