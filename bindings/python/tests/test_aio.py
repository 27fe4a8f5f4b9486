"""Tasks: locks, sets of readers, permits, and what becomes of them when a task is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import itertools
import random
import threading
import time
import warnings
from typing import Any

import leash
import pytest
from conftest import PATIENCE, Server, ended, eventually, eventually_so, is_value, python, run

from leash import aio
from leash.aio import operation
from leash.core import Core


async def is_waited_for(lock: Any, by: int = 1) -> bool:
    return (await lock.inspect()).waiting == by


def test_a_thousand_tasks_share_a_lock(server: Server, name: str) -> None:
    inside = overlaps = turns = 0

    async def turn(lock: aio.Lock) -> None:
        nonlocal inside, overlaps, turns
        async with lock as hold:
            assert hold.held and lock.held and hold.fence == lock.fence > 0
            overlaps += inside
            inside += 1
            await asyncio.sleep(0)
            inside -= 1
            turns += 1

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            locks = [client.lock(name), other.lock(name)]
            await asyncio.gather(*(turn(locks[i % 2]) for i in range(1000)))
            stats = client.stats()
            assert stats.acquired == stats.released == 500 and stats.holding == 0
            assert stats.handed_on > 0

    run(main())
    assert (overlaps, turns) == (0, 1000)
    assert not operation._under_way


def test_a_task_that_holds_it_nests(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            async with lock as hold:
                async with lock as same:
                    assert same is hold and lock.depth == 2
                assert lock.depth == 1 and hold.held
                assert not await asyncio.create_task(lock.acquire(timeout=0))
            assert lock.depth == 0 and not hold.held and not server.holds(name)
            with pytest.raises(leash.NotHeld):
                await lock.release()
            with pytest.raises(leash.NotHeld):
                await hold.release()
            with pytest.raises(leash.NotHeld):
                await lock.extend(60)

    run(main())


def test_acquire_says_false_at_the_end_of_its_time(server: Server, client: leash.Client, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as own:
            lock = own.lock(name)
            assert await lock.acquire(timeout=1) is False
            assert await lock.acquire(timeout=0) is False
            with pytest.raises(leash.Timeout):
                async with own.lock(name, wait=1):
                    pytest.fail("it has it")

    with client.lock(name):
        run(main())


def test_times_are_in_seconds(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri, lease=40) as client:
            lock = client.lock(name)
            async with lock as hold:
                assert 35 < hold.remaining <= 40
                await lock.extend(90)
                assert 85 < lock.remaining <= 90
            assert await lock.acquire(lease=5)
            assert 3 < lock.remaining <= 5
            await lock.release()

    run(main())


def test_a_task_that_is_cancelled_leaves_the_queue(server: Server, client: leash.Client, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as own:
            lock = own.lock(name)
            task = asyncio.create_task(lock.acquire())
            await eventually_so(lambda: is_waited_for(lock))
            task.cancel("enough")
            with pytest.raises(asyncio.CancelledError):
                await task
            await eventually_so(lambda: is_waited_for(lock, 0))
            with pytest.raises((asyncio.TimeoutError, TimeoutError)):
                await asyncio.wait_for(lock.acquire(), 0.1)
            assert own.stats().holding == 0 and not lock._holds and not operation._under_way

    with client.lock(name):
        run(main())


def test_a_task_that_cancels_itself_acquires_nothing(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)

            async def cancel_and_acquire() -> None:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await lock.acquire()

            with pytest.raises(asyncio.CancelledError):
                await asyncio.create_task(cancel_and_acquire())
            await eventually_so(lambda: is_value(not server.holds(name)))
            assert client.stats().holding == 0

    run(main())


def test_tasks_that_are_cancelled_at_any_moment_leave_nothing_behind(server: Server, name: str) -> None:
    chance = random.Random(7)
    inside = overlaps = turns = cancelled = 0

    async def turn(lock: aio.Lock) -> None:
        nonlocal inside, overlaps, turns
        async with lock:
            overlaps += inside
            inside += 1
            try:
                await asyncio.sleep(0.0005 * chance.random())
            finally:
                inside -= 1
            turns += 1

    async def main() -> None:
        nonlocal cancelled
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            locks = [client.lock(name), other.lock(name)]
            tasks = [asyncio.create_task(turn(locks[i % 2])) for i in range(600)]
            while pending := [task for task in tasks if not task.done()]:
                await asyncio.sleep(0.002 * chance.random())
                if cancelled < 300:
                    chance.choice(pending).cancel()
                    cancelled += 1
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(result) for result in results} <= {type(None), asyncio.CancelledError}
            assert all(not lock._holds for lock in locks)
            assert client.stats().holding == other.stats().holding == 0
            assert await locks[0].acquire(timeout=20)
            await locks[0].release()

    run(main())
    assert overlaps == 0 and turns >= 100 and cancelled >= 100
    assert not operation._under_way


@pytest.mark.parametrize("is_first", [True, False])
def test_a_grant_that_meets_a_cancellation_is_given_back(
    server: Server, name: str, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    victims: list[asyncio.Task[bool]] = []
    finish = operation.Operation.end

    def finish_and_cancel(under_way: operation.Operation, error: Any) -> None:
        if is_first and victims:
            victims.pop().cancel()
        finish(under_way, error)
        if victims:
            victims.pop().cancel()

    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            for _ in range(50):
                task = asyncio.create_task(lock.acquire())
                victims.append(task)
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert not victims and not lock._holds
            stats = client.stats()
            assert (stats.acquired, stats.released, stats.holding) == (50, 50, 0)

    monkeypatch.setattr(operation.Operation, "end", finish_and_cancel)
    run(main())


@pytest.mark.parametrize("is_first", [True, False])
def test_an_interruption_loses_no_end(
    server: Server, name: str, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    interruptions = [KeyboardInterrupt()] * 3
    end = operation.Operation.end

    def interrupted(under_way: operation.Operation, error: Any) -> None:
        if not is_first:
            end(under_way, error)
        if interruptions:
            raise interruptions.pop()
        end(under_way, error)

    async def main() -> None:
        async with aio.Client(server.uri) as client:
            async with client.lock(name) as hold:
                assert hold.held

    monkeypatch.setattr(operation.Operation, "end", interrupted)
    loop = asyncio.new_event_loop()
    task = loop.create_task(main())
    while not task.done():
        with contextlib.suppress(KeyboardInterrupt):
            loop.run_until_complete(asyncio.shield(task))
    loop.close()
    assert not interruptions and not operation._under_way


@pytest.mark.parametrize("what", ["lock", "permit"])
def test_an_interrupted_release_leaves_no_hold_behind(
    server: Server, client: leash.Client, name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    async def main() -> None:
        async with aio.Client(server.uri) as own:
            lock, semaphore = own.lock(name), own.semaphore(name + "/s", 1)
            held: Any = await lock.__aenter__() if what == "lock" else await semaphore.acquire()
            with monkeypatch.context() as patched:
                patched.setattr(own, "_do", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    await held.release()
            if what == "permit":
                assert held.held
                await held.release()
                assert await semaphore.acquire(timeout=20)
            else:
                del held
                gc.collect()
                await eventually_so(lambda: is_value(client.lock(name).acquire(timeout=0.1)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        run(main())
        gc.collect()


def test_what_cannot_be_begun_is_not_under_way(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            with pytest.raises((TypeError, ctypes.ArgumentError)):
                await client.semaphore(name, 2).acquire(1.5)  # type: ignore[arg-type]
            assert not operation._under_way

    run(main())


def test_wait_for_may_acquire_for_its_caller(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            assert await asyncio.wait_for(lock.acquire(), 10)
            assert server.holds(name)
            await lock.release()
            assert not server.holds(name)
            await asyncio.create_task(lock.acquire())  # in a task that has ended
            await lock.release()
            assert not server.holds(name)

    run(main())


def test_a_hold_may_be_passed_to_another_task(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            assert await lock.acquire()
            hold = lock._holds[asyncio.current_task()]

            async def end() -> None:
                with pytest.raises(leash.NotHeld):
                    await lock.release()  # it is of a task that lives
                await hold.release()

            await asyncio.create_task(end())
            assert not server.holds(name)

    run(main())


def test_a_loss_is_told_at_the_end(server: Server, name: str) -> None:
    events: list[tuple[str, int]] = []

    async def main() -> None:
        def on_event(event: leash.Event) -> None:
            events.append((event.type, threading.get_ident()))

        async with aio.Client(server.uri, on_event=on_event) as client:
            lock = client.lock(name)
            with pytest.raises(leash.Lost, match=name):
                async with lock as hold:
                    await lock.break_()
                    assert not hold.held
            with pytest.raises(ZeroDivisionError):
                async with lock:
                    await lock.break_()
                    raise ZeroDivisionError
            async with lock:
                pass
            await eventually_so(lambda: is_value(len(events) == 2))

    run(main())
    assert events == [("LOST", threading.get_ident())] * 2


def test_who_lost_it_releases_nothing_of_the_next_holder(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            lost, next_one = asyncio.Event(), asyncio.Event()

            async def lose() -> None:
                with pytest.raises(leash.Lost):
                    async with lock:
                        await lock.break_()
                        lost.set()
                        await next_one.wait()

            loser = asyncio.create_task(lose())
            await lost.wait()
            async with lock as hold:
                next_one.set()
                await loser
                assert hold.held

    run(main())


def test_many_read_or_one_writes(server: Server, name: str) -> None:
    reading = most = 0

    async def main() -> None:
        nonlocal reading, most
        async with aio.Client(server.uri) as client:
            reads, writes = client.lock(name, mode="read"), client.lock(name, mode="write")

            async def read() -> None:
                nonlocal reading, most
                async with reads:
                    reading += 1
                    most = max(most, reading)
                    await asyncio.sleep(0.001)
                    reading -= 1

            async def write() -> None:
                async with writes:
                    assert reading == 0
                    await asyncio.sleep(0.001)
                    assert reading == 0

            await asyncio.gather(*(write() if i % 10 == 0 else read() for i in range(200)))

    run(main())
    assert most > 1


def test_tasks_take_several_locks_or_none(server: Server, client: leash.Client, name: str) -> None:
    names = [f"{name}/{i}" for i in range(3)]
    inside = {each: 0 for each in names}
    overlaps = turns = 0

    async def main() -> None:
        async with aio.Client(server.uri) as own:
            sets = {pair: own.multi(pair) for pair in itertools.permutations(names, 2)}

            async def turn(pair: tuple[str, str]) -> None:
                nonlocal overlaps, turns
                async with sets[pair] as hold:
                    assert hold.held and sets[pair].held and hold.remaining > 0 and all(hold.fences)
                    for each in pair:
                        overlaps += inside[each]
                        inside[each] += 1
                    await asyncio.sleep(0)
                    for each in pair:
                        inside[each] -= 1
                    turns += 1

            await asyncio.gather(*(turn(pair) for pair in list(sets) * 20))
            both = sets[names[0], names[1]]
            with client.lock(names[0]) as theirs:
                assert not await both.acquire(timeout=1) and not both.held
                task = asyncio.create_task(both.acquire())
                await eventually_so(lambda: is_value(theirs.inspect().waiting == 1))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await both.acquire(timeout=20)
            await both.release()
            with pytest.raises(leash.NotHeld):
                await both.release()
            assert own.stats().holding == 0

    run(main())
    assert (overlaps, turns) == (0, 120)
    assert not operation._under_way


def test_a_hold_of_a_process_that_died_can_be_adopted(server: Server, name: str) -> None:
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

    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            hold = await lock.adopt(token)
            assert lock.held and (hold.token, str(hold.fence)) == (token, fence)
            await lock.release()
            with pytest.raises(leash.NotHeld):
                await lock.adopt(token)
            assert not server.holds(name)

    run(main())


def test_no_more_permits_are_out_than_the_limit(server: Server, name: str) -> None:
    out = most = 0

    async def main() -> None:
        async with aio.Client(server.uri) as client:
            semaphore = client.semaphore(name, 3)

            async def work(count: int) -> None:
                nonlocal out, most
                async with semaphore.acquire(count) as permit:
                    assert permit.held and permit.count == count
                    out += count
                    most = max(most, out)
                    await asyncio.sleep(0.001)
                    out -= count

            await asyncio.gather(*(work(1 + i % 2) for i in range(100)))
            permit = await semaphore.acquire(3)
            await permit.extend(60)
            assert permit.remaining > 50
            await permit.release_some(1)
            async with semaphore.acquire(timeout=20):
                assert permit.count == 2
            await permit.release()
            permit = await semaphore.acquire(3)
            with pytest.raises(leash.Timeout):
                await semaphore.acquire(timeout=1)
            assert (await semaphore.inspect()).out == 3
            assert [hold.count for hold in await semaphore.holders()] == [3]
            task = asyncio.ensure_future(semaphore.acquire())
            await eventually_so(lambda: is_waited_for(semaphore))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await permit.release()
            with pytest.raises(leash.NotHeld):
                await permit.release()
            async with semaphore.acquire(3, timeout=20):
                pass

    run(main())
    assert most == 3
    assert not operation._under_way


def test_a_permit_that_was_forgotten_is_given_back(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            semaphore = client.semaphore(name, 1)
            with pytest.warns(ResourceWarning, match=name):
                await semaphore.acquire()
                gc.collect()
            async with semaphore.acquire(timeout=20):
                pass

    run(main())


def test_permits_of_a_coroutine_that_was_dropped_are_given_back(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            permit = await other.semaphore(name, 1).acquire()
            semaphore = client.semaphore(name, 1)
            dropped = semaphore.acquire().__await__()
            next(dropped)
            del dropped
            gc.collect()
            await eventually_so(lambda: is_waited_for(semaphore))
            with pytest.warns(ResourceWarning, match=name):
                await permit.release()
                assert await other.semaphore(name, 1).acquire(timeout=20)

    run(main())
    assert not operation._under_way


def test_one_can_ask_who_has_it(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            assert not await lock.locked() and await lock.waiters() == []
            async with lock:
                assert await lock.locked()
                assert [hold.who.token for hold in await lock.holders()] == [lock.token]
                assert [found.name for found in await client.scan(name)] == [name]

    run(main())


def test_closing_wakes_who_waits(server: Server, client: leash.Client, name: str) -> None:
    async def main() -> None:
        own = await aio.Client(server.uri).open()
        lock = own.lock(name)
        tasks = [asyncio.create_task(lock.acquire()) for _ in range(10)]
        await eventually_so(lambda: is_waited_for(lock))
        await own.close()
        await own.close()
        assert {type(result) for result in await asyncio.gather(*tasks, return_exceptions=True)} == {leash.Closed}
        for call in (lock.acquire, lock.inspect):
            with pytest.raises(leash.Closed):
                await call()
        with pytest.raises(leash.Closed):
            own.lock(name)

    with client.lock(name):
        run(main())


def test_whoever_closes_finds_it_closed(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    close = Core.close

    def slowly(core: Core) -> None:
        time.sleep(0.1)
        close(core)

    async def close_it(client: aio.Client) -> bool:
        await client.close()
        return client.closed

    async def main() -> None:
        client = await aio.Client(server.uri).open()
        assert all(await asyncio.gather(close_it(client), close_it(client)))
        with pytest.raises(leash.Closed):
            await client.open()

    monkeypatch.setattr(Core, "close", slowly)
    run(main())


def test_an_interrupted_close_ends_what_is_under_way(server: Server, client: leash.Client, name: str) -> None:
    async def main() -> None:
        own = await aio.Client(server.uri).open()
        task = asyncio.create_task(own.lock(name).acquire())
        await eventually_so(lambda: is_waited_for(own.lock(name)))
        loop = asyncio.get_running_loop()
        begin = loop.run_in_executor

        def interrupted(*args: Any) -> Any:
            begin(*args)
            raise KeyboardInterrupt

        loop.run_in_executor = interrupted  # type: ignore[method-assign, assignment]
        with pytest.raises(KeyboardInterrupt):
            await own.close()
        with pytest.raises(leash.Closed):
            await task

    with client.lock(name):
        run(main())


def test_a_client_must_be_open_and_of_this_loop(server: Server, name: str) -> None:
    client = aio.Client(server.uri)

    async def main() -> tuple[aio.Lock, aio.LockHold, aio.Permit]:
        with pytest.raises(leash.Closed):
            client.lock(name)
        await client.open()
        kept = client.lock(name)
        return kept, await kept.__aenter__(), await client.semaphore(name + "/s", 1).acquire()

    async def elsewhere() -> None:
        with pytest.raises(RuntimeError, match="loop"):
            client.lock(name)
        with pytest.raises(RuntimeError, match="loop"):
            await kept.acquire()
        with pytest.raises(RuntimeError, match="loop"):
            await hold.release()
        with pytest.raises(RuntimeError, match="loop"):
            await permit.release()
        assert hold.held and permit.held

    loop = asyncio.new_event_loop()
    kept, hold, permit = loop.run_until_complete(main())
    run(elsewhere())
    loop.run_until_complete(hold.release())
    loop.run_until_complete(permit.release())
    loop.run_until_complete(client.close())
    loop.close()


def test_an_opening_can_be_cancelled(server: Server) -> None:
    async def main() -> None:
        client = aio.Client(f"unix://{server.socket}.none", open_wait=float("inf"))
        with pytest.raises((asyncio.TimeoutError, TimeoutError)):
            await asyncio.wait_for(client.open(), 0.2)

    began = time.monotonic()
    run(main())  # which awaits the executor's threads
    assert time.monotonic() - began < 15


def test_a_server_that_is_away_is_told(server: Server) -> None:
    async def main() -> None:
        with pytest.raises(leash.Unavailable, match="none"):
            async with aio.Client(f"unix://{server.socket}.none"):
                pass

    run(main())


def test_ctrl_c_ends_a_program_whose_tasks_wait(server: Server, client: leash.Client, name: str) -> None:
    program = """
import asyncio, sys
from leash import aio
async def main():
    async with aio.Client(sys.argv[1]) as client:
        lock = client.lock(sys.argv[2])
        await asyncio.gather(*(lock.acquire() for _ in range(5)))
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""
    with client.lock(name) as lock:
        process = python(program, server.uri, name)
        eventually(lambda: lock.inspect().waiting == 1)
        process.send_signal(2)
        assert ended(process) == "interrupted\n"
        eventually(lambda: lock.inspect().waiting == 0)


def test_a_program_may_end_without_closing(server: Server, client: leash.Client, name: str) -> None:
    program = """
import asyncio, sys
from leash import aio
async def main():
    client = await aio.Client(sys.argv[1]).open()
    task = asyncio.create_task(client.lock(sys.argv[2]).acquire())
    await client.lock(sys.argv[2] + "/held").acquire()
    await asyncio.sleep(0.3)
asyncio.run(main())
"""
    with client.lock(name) as lock:
        process = python(program, server.uri, name)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and "Traceback" not in err, err
        assert not server.holds(name + "/held")
        eventually(lambda: lock.inspect().waiting == 0)


def test_a_loop_in_a_daemon_thread_may_be_there_at_the_exit(server: Server, name: str) -> None:
    program = """
import asyncio, sys, threading
from leash import aio
async def main():
    async with aio.Client(sys.argv[1]) as client:
        async with client.lock(sys.argv[2]):
            ready.set()
            await asyncio.sleep(60)
ready = threading.Event()
threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
ready.wait()
"""
    assert ended(python(program, server.uri, name)) == ""
    assert not server.holds(name)


def test_two_tasks_that_open_a_client_have_one(server: Server, name: str) -> None:
    async def main() -> None:
        client = aio.Client(server.uri)
        await asyncio.gather(client.open(), client.open())
        try:
            async with client.lock(name) as hold:
                assert hold.held
        finally:
            await client.close()

    run(main())
