"""Latches and barriers of threads."""

from __future__ import annotations

import threading

import leash
import pytest
from conftest import eventually, in_thread, interrupt


def test_a_latch_opens_once_enough_have_arrived(client: leash.Client, other: leash.Client, name: str) -> None:
    latch, theirs = client.latch(name, 3), other.latch(name, 3)
    waiter = threading.Thread(target=latch.wait)
    waiter.start()
    eventually(lambda: client.stats().waiting == 1)
    theirs.count_down()
    for _ in range(2):
        theirs.count_down("worker-1")  # counts once
    with pytest.raises(leash.Timeout):
        theirs.wait(timeout=0)
    assert waiter.is_alive() and theirs.arrived() == 2
    latch.count_down("worker-2")
    waiter.join()
    theirs.wait(timeout=0)


def test_a_latch_can_begin_anew(client: leash.Client, name: str) -> None:
    latch = client.latch(name, 1)
    latch.count_down()
    latch.wait()
    latch.break_()
    assert latch.arrived() == 0
    with pytest.raises(leash.Timeout):
        latch.wait(timeout=0)
    with pytest.raises(leash.NotHeld):
        latch.break_()


def test_a_barrier_lets_all_in_round_after_round(client: leash.Client, other: leash.Client, name: str) -> None:
    rounds = [0, 0, 0]
    ahead = []

    def meet(i: int) -> None:
        barrier = (client, other)[i % 2].barrier(name, 3)
        for number in range(1, 11):
            rounds[i] = number
            barrier.wait()
            ahead.append(min(rounds) < number)

    threads = [threading.Thread(target=meet, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    meet(2)
    for thread in threads:
        thread.join()
    assert ahead == [False] * 30


def test_nobody_counts_on_one_that_gave_up(client: leash.Client, other: leash.Client, name: str) -> None:
    barrier = client.barrier(name, 2)
    with pytest.raises(leash.Timeout):
        in_thread(lambda: barrier.wait(timeout=1))
    with pytest.raises(leash.Timeout):
        other.barrier(name, 2).wait(timeout=0)


def test_ctrl_c_ends_a_wait_at_a_gate(client: leash.Client, other: leash.Client, name: str) -> None:
    barrier, latch = client.barrier(name, 2), client.latch(name + "/latch", 1)
    for wait in barrier.wait, latch.wait:
        interrupter = interrupt(lambda: client.stats().waiting == 1)
        with pytest.raises(KeyboardInterrupt):
            wait()
        interrupter.join()
    with pytest.raises(leash.Timeout):
        other.barrier(name, 2).wait(timeout=0)


def test_what_cannot_be_is_refused(client: leash.Client, name: str) -> None:
    with pytest.raises(leash.Invalid):
        client.latch(name, 0)
    with pytest.raises(leash.Invalid):
        client.barrier(name, 1001)
    with pytest.raises(leash.Invalid):
        client.latch(name, 1).count_down("")
    with pytest.raises(ValueError):
        client.latch(name, 1).wait(timeout=-2)
    with client.lock(name + "/lock"), pytest.raises((leash.Mismatch, leash.Invalid)):
        client.latch(name + "/lock", 1).wait(timeout=0)
