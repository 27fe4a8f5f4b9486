"""Tasks: latches, barriers, conditions, leaders, upgrades, and what becomes of them when a task is cancelled."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Awaitable, Callable

import leash
import pytest
from conftest import PATIENCE, Server, eventually, eventually_so, is_value, python, run

from leash import aio
from leash.aio import operation


def waiting(client: Any, count: int = 1) -> Callable[[], Awaitable[bool]]:
    return lambda: is_value(client.stats().waiting == count)


async def begun(client: aio.Client, wait: Any) -> asyncio.Future[Any]:
    task: asyncio.Future[Any] = asyncio.ensure_future(wait)
    await eventually_so(waiting(client))
    return task


async def cancelled(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not operation._under_way


def test_a_latch_opens_for_tasks(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            latch, theirs = client.latch(name, 2), other.latch(name, 2)
            waiters = [asyncio.create_task(latch.wait()) for _ in range(100)]
            await eventually_so(waiting(client, 100))
            await theirs.count_down("worker-1")
            await theirs.count_down("worker-1")
            with pytest.raises(leash.Timeout):
                await theirs.wait(timeout=0)
            assert await latch.arrived() == 1
            await theirs.count_down()
            await asyncio.gather(*waiters)
            await latch.break_()
            await cancelled(await begun(client, latch.wait()))

    run(main())
    assert not operation._under_way


def test_tasks_meet_at_a_barrier_round_after_round(server: Server, name: str) -> None:
    rounds = [0] * 10
    ahead = []

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:

            async def meet(i: int) -> None:
                barrier = (client, other)[i % 2].barrier(name, 10)
                for number in range(1, 6):
                    rounds[i] = number
                    await barrier.wait()
                    ahead.append(min(rounds) < number)

            await asyncio.gather(*(meet(i) for i in range(10)))

    run(main())
    assert ahead == [False] * 50


def test_nobody_counts_on_a_task_that_was_cancelled_at_a_barrier(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            barrier = client.barrier(name, 2)
            await cancelled(await begun(client, barrier.wait()))
            with pytest.raises(leash.Timeout):
                await other.barrier(name, 2).wait(timeout=0)

    run(main())


def test_a_queue_between_tasks_of_two_clients(server: Server, name: str) -> None:
    queue: list[int] = []
    taken: list[int] = []

    async def take(lock: aio.Lock) -> None:
        async with lock.condition("not empty") as not_empty:
            await not_empty.wait_for(lambda: queue)
            taken.append(queue.pop())
            await lock.condition("not full").notify()

    async def put(lock: aio.Lock, number: int) -> None:
        async with lock.condition("not full") as not_full:
            await not_full.wait_for(lambda: not queue)
            queue.append(number)
            await lock.condition("not empty").notify()

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            locks = [client.lock(name), other.lock(name)]
            takers = (take(locks[i % 2]) for i in range(50))
            await asyncio.gather(*takers, *(put(locks[i // 2 % 2], i) for i in range(50)))
            assert not any(lock._holds for lock in locks)

    run(main())
    assert sorted(taken) == list(range(50))
    assert not operation._under_way


def test_tasks_that_wait_have_the_lock_again_as_deep(server: Server, client: leash.Client, name: str) -> None:
    begun: list[int] = []
    depths: list[int] = []
    theirs = client.lock(name)

    def notify() -> None:
        eventually(lambda: len(begun) == 3)
        with theirs:  # so the last one waits, too
            theirs.condition("changed").notify_all()

    async def main() -> None:
        async with aio.Client(server.uri) as own:
            lock = own.lock(name)

            async def wait() -> None:
                async with lock, lock.condition("changed") as changed:
                    begun.append(lock.depth)
                    assert await changed.wait() and lock.held
                    depths.append(lock.depth)

            await asyncio.gather(wait(), wait(), wait())

    notifier = threading.Thread(target=notify)
    notifier.start()
    run(main())
    notifier.join()
    assert begun == depths == [2, 2, 2]


def test_a_task_waits_for_a_condition_no_longer_than_it_says(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            lock = client.lock(name)
            async with lock.condition("never", recheck=0.1) as never:
                assert await never.wait(timeout=0) is False
                assert await never.wait_for(lambda: "", timeout=0.3) == ""
                assert await never.wait() and lock.held
            with pytest.raises(leash.NotHeld):
                await never.wait()
            with pytest.raises(ZeroDivisionError):
                async with never:
                    await never.wait_for(lambda: 1 / 0)
            assert not lock._holds and not server.holds(name)
            with pytest.raises(leash.Invalid):
                lock.condition("a?b")

    run(main())


def test_a_task_that_is_cancelled_has_the_lock_again_first(server: Server, name: str) -> None:
    held = []

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            lock, theirs = client.lock(name), other.lock(name)

            async def wait() -> None:
                async with lock.condition("never") as never:
                    try:
                        await never.wait()
                    finally:
                        held.append(lock.held)

            task = asyncio.create_task(wait())
            assert await asyncio.wait_for(eventually_acquires(theirs, lock), PATIENCE)
            task.cancel()
            await asyncio.sleep(0.1)
            assert not task.done() and not held
            await theirs.release()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not lock._holds and await theirs.acquire(timeout=20)
            await theirs.release()

    async def eventually_acquires(theirs: aio.Lock, lock: aio.Lock) -> bool:
        while not lock._holds:
            await asyncio.sleep(0)
        return await theirs.acquire()

    run(main())
    assert held == [True] and not operation._under_way


def test_a_task_that_could_not_have_the_lock_again_holds_nothing(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            lock, theirs = client.lock(name), other.lock(name)
            with pytest.raises(leash.Unavailable):
                async with lock, lock.condition("changed", reacquire=0.1, recheck=0.1) as changed:
                    taker = asyncio.create_task(theirs.acquire())
                    while True:
                        await changed.wait()
            assert await taker and not lock._holds
            await theirs.release()  # of a task that has ended
            assert await lock.acquire(timeout=20)

    run(main())
    assert not operation._under_way


def test_tasks_that_watch_learn_who_leads(server: Server, name: str) -> None:
    heard = []

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            lock = client.lock(name)
            assert await other.leader(name) is None

            async def watch() -> None:
                async for leader in other.watch_leader(name):
                    heard.append(leader.value if leader is not None else None)
                    if heard[-1] == "the last":
                        break

            watcher = asyncio.create_task(watch())
            await eventually_so(lambda: is_value(heard == [None]))
            async with lock as hold:
                await hold.proclaim("the first")
                await eventually_so(lambda: is_value(heard[-1] == "the first"))
                leader = await other.leader(name)
                assert leader is not None and (leader.token, leader.fence) == (hold.token, hold.fence)
            await eventually_so(lambda: is_value(heard[-1] is None))
            with pytest.raises(leash.NotHeld):
                await lock.proclaim("nobody")
            async with lock:
                await lock.proclaim("the last")
                await watcher

    run(main())
    assert not operation._under_way


@pytest.mark.parametrize("came", [False, True])
def test_a_watch_goes_on_behind_a_cancellation(
    server: Server, name: str, came: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = operation.Operation.end

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other:
            watch = other.watch_leader(name)
            assert await watch.__anext__() is None
            task = await begun(other, watch.__anext__())
            (watching,) = operation._under_way.values()

            def finish_and_cancel(under_way: operation.Operation, error: Any) -> None:
                finish(under_way, error)
                if under_way is watching:
                    task.cancel()

            if came:
                monkeypatch.setattr(operation.Operation, "end", finish_and_cancel)
            else:
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            async with client.lock(name):
                if came:
                    with pytest.raises(asyncio.CancelledError):
                        await task
                assert await watch.__anext__() is not None

    run(main())
    assert not operation._under_way


def test_who_reads_alone_can_write_what_it_read(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            reads, writes = client.lock(name, mode="read"), client.lock(name, mode="write")
            async with reads as reading:
                with pytest.raises(leash.Timeout):  # another task reads
                    await asyncio.create_task(read_and_upgrade(reads, writes))
                writing = await writes.upgrade(reads)
                assert writing.held and writes.held and reading.held
                assert await writes.upgrade(reads) is writing and writing.depth == 2
                await writing.release()
                assert not await asyncio.create_task(reads.acquire(timeout=0))
                await writes.release()
                assert not writes.held and reading.held
                await asyncio.create_task(read(reads))
            with pytest.raises(leash.NotHeld):
                await writes.upgrade(reads)
            assert client.stats().holding == 0 and not server.holds(name)

    async def read(reads: aio.Lock) -> None:
        async with reads:
            pass

    async def read_and_upgrade(reads: aio.Lock, writes: aio.Lock) -> None:
        async with reads:
            await writes.upgrade(reads)

    run(main())


def test_the_owner_of_a_write_is_lent_to_nobody(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            reads, writes = client.lock(name, mode="read"), client.lock(name, mode="write")
            async with reads:
                writing = await writes.upgrade(reads)
            assert writing.held
            assert not await asyncio.create_task(reads.acquire(timeout=0))
            assert not await asyncio.create_task(writes.acquire(timeout=0))
            await writing.release()
            assert await asyncio.create_task(writes.acquire(timeout=0))

    run(main())


def test_an_upgrade_that_was_cancelled_reads_on(server: Server, name: str) -> None:
    async def main() -> None:
        async with aio.Client(server.uri) as client:
            reads, writes = client.lock(name, mode="read"), client.lock(name, mode="write")
            async with reads as reading:
                task = asyncio.current_task()
                assert task is not None
                asyncio.get_running_loop().call_soon(task.cancel)
                with pytest.raises(asyncio.CancelledError):
                    await writes.upgrade(reads)
                if hasattr(task, "uncancel"):  # Python 3.11
                    task.uncancel()
                assert reading.held and not writes.held
                assert await asyncio.create_task(reads.acquire(timeout=5))

    run(main())
    assert not operation._under_way


def test_closing_wakes_tasks_whatever_they_wait_for(server: Server, name: str) -> None:
    async def main() -> None:
        own = await aio.Client(server.uri).open()
        watch = own.watch_leader(name)
        await watch.__anext__()
        lock = own.lock(name + "/lock")

        async def wait_for_a_condition() -> None:
            async with lock.condition("never") as never:
                await never.wait()

        gates = own.latch(name + "/l", 1), own.barrier(name + "/b", 2)
        waits = *(gate.wait for gate in gates), watch.__anext__, wait_for_a_condition
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(wait()) for wait in waits]
        await eventually_so(waiting(own, 4))
        await own.close()
        assert {type(result) for result in await asyncio.gather(*tasks, return_exceptions=True)} == {leash.Closed}
        for call in own.latch, own.barrier:
            with pytest.raises(leash.Closed):
                call(name, 1)
        with pytest.raises(leash.Closed):
            own.watch_leader(name)

    run(main())
    assert not operation._under_way


def test_a_loop_may_be_closed_with_tasks_at_gates(server: Server, client: leash.Client, name: str) -> None:
    program = """
import asyncio, sys
from leash import aio
async def main():
    client = await aio.Client(sys.argv[1]).open()
    watch = client.watch_leader(sys.argv[2])
    await watch.__anext__()
    async def wait_for_a_condition():
        lock = client.lock(sys.argv[2] + "/lock")
        await lock.acquire()
        await lock.condition("changed").wait()
    gates = client.barrier(sys.argv[2] + "/b", 2), client.latch(sys.argv[2] + "/l", 1)
    waits = *(gate.wait() for gate in gates), watch.__anext__(), wait_for_a_condition()
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    while client.stats().waiting < 4:
        await asyncio.sleep(0.01)
    print("waits", flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
"""
    process = python(program, server.uri, name)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "waits\n"), err
    assert "Traceback" not in err, err
    with pytest.raises(leash.Timeout):
        client.barrier(name + "/b", 2).wait(timeout=0)


def test_permits_of_a_process_that_died_can_be_adopted(server: Server, client: leash.Client, name: str) -> None:
    program = """
import leash, sys
permits = [leash.Client(sys.argv[1]).semaphore(sys.argv[2], 3).acquire(count) for count in (1, 2)]
print(*(permit.token for permit in permits), flush=True)
sys.stdin.read()
"""
    process = python(program, server.uri, name)
    assert process.stdout is not None
    one, two = process.stdout.readline().split()
    process.kill()
    process.communicate()
    with client.semaphore(name, 3).adopt(1, one) as permit:
        assert permit.held and (permit.count, permit.token) == (1, one)

    async def main() -> None:
        async with aio.Client(server.uri) as own:
            semaphore = own.semaphore(name, 3)
            async with await semaphore.adopt(2, two) as permit:
                assert permit.held and permit.count == 2
            with pytest.raises(leash.NotHeld):
                await semaphore.adopt(2, two)
            assert (await semaphore.inspect()).out == 0

    run(main())
    eventually(lambda: client.stats().holding == 0)


def test_a_notification_to_a_task_that_was_cancelled_goes_to_the_next(server: Server, name: str) -> None:
    async def wait(condition: aio.Condition) -> None:
        async with condition:
            await condition.wait()

    async def main() -> None:
        async with aio.Client(server.uri) as client, aio.Client(server.uri) as other, aio.Client(server.uri) as third:
            lock, queue = other.lock(name), third.lock(f"{name}?news")
            condition = lock.condition("news")
            tasks = []
            for number in range(2):
                tasks.append(asyncio.create_task(wait(client.lock(name).condition("news"))))
                while (await queue.inspect()).waiting <= number:
                    await asyncio.sleep(0.01)
            async with lock:
                await condition.notify()
                while (await queue.inspect()).waiting > 1:
                    await asyncio.sleep(0.01)
                tasks[0].cancel()
            await asyncio.wait_for(tasks[1], PATIENCE)
            with pytest.raises(asyncio.CancelledError):
                await tasks[0]

    run(main())
