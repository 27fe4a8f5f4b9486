"""Sets of locks."""

from __future__ import annotations

import leash
import pytest
from conftest import in_thread


def test_all_are_held_or_none(client: leash.Client, other: leash.Client, name: str) -> None:
    both = client.multi([name + "/a", name + "/b"])
    with both:
        assert both.held and both.remaining > 0 and all(lock.held for lock in both.locks)
        assert both.fences == [lock.fence for lock in both.locks] and all(both.fences)
        assert not other.lock(name + "/b").acquire(False)
    assert not both.held and both.remaining == 0
    with other.lock(name + "/b"):
        assert both.acquire(False) is False
        assert both.acquire(timeout=1) is False
        with other.lock(name + "/a", wait=5):
            pass
    assert both.acquire()
    both.release()


def test_any_thread_may_use_a_set(client: leash.Client, name: str) -> None:
    both = client.multi([name + "/a", name + "/b"])

    def use() -> bool:
        with both:
            return both.held

    assert in_thread(use) and use()
    with both:
        assert not in_thread(lambda: both.acquire(False))


def test_a_set_may_be_of_locks(client: leash.Client, name: str) -> None:
    ann, bob = client.lock(name + "/ann"), client.lock(name + "/bob")
    with ann, client.multi([bob, ann]):
        assert ann.depth == 2 and bob.depth == 1
    assert ann.depth == bob.depth == 0


def test_a_set_that_waited_in_vain_raises_timeout(client: leash.Client, other: leash.Client, name: str) -> None:
    with other.lock(name):
        with pytest.raises(leash.Timeout):
            with client.multi([name], wait=1):
                pytest.fail("it has it")


def test_a_name_is_in_a_set_once(client: leash.Client, name: str) -> None:
    with pytest.raises(leash.Invalid, match="twice"):
        client.multi([name, name])
