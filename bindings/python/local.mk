# The Python package. It is not built nor installed by make, but by pip: it is Python alone. tests/python/test_python.sh
# runs its tests. What people read of it is installed with README.md, see docs/local.mk.

EXTRA_DIST += bindings/python/examples/run.sh
EXTRA_DIST += bindings/python/pyproject.toml
EXTRA_DIST += bindings/python/src/leash/__init__.py
EXTRA_DIST += bindings/python/src/leash/aio/__init__.py
EXTRA_DIST += bindings/python/src/leash/aio/client.py
EXTRA_DIST += bindings/python/src/leash/aio/lock.py
EXTRA_DIST += bindings/python/src/leash/aio/multi.py
EXTRA_DIST += bindings/python/src/leash/aio/operation.py
EXTRA_DIST += bindings/python/src/leash/aio/semaphore.py
EXTRA_DIST += bindings/python/src/leash/aio/shared.py
EXTRA_DIST += bindings/python/src/leash/calls.py
EXTRA_DIST += bindings/python/src/leash/client.py
EXTRA_DIST += bindings/python/src/leash/core.py
EXTRA_DIST += bindings/python/src/leash/errors.py
EXTRA_DIST += bindings/python/src/leash/events.py
EXTRA_DIST += bindings/python/src/leash/inspection.py
EXTRA_DIST += bindings/python/src/leash/lock.py
EXTRA_DIST += bindings/python/src/leash/native.py
EXTRA_DIST += bindings/python/src/leash/options.py
EXTRA_DIST += bindings/python/src/leash/py.typed
EXTRA_DIST += bindings/python/src/leash/semaphore.py
EXTRA_DIST += bindings/python/src/leash/session.py
EXTRA_DIST += bindings/python/src/leash/structs.py
EXTRA_DIST += bindings/python/src/leash/times.py
EXTRA_DIST += bindings/python/src/leash/waits.py
EXTRA_DIST += bindings/python/tests/conftest.py
EXTRA_DIST += bindings/python/tests/test_aio.py
EXTRA_DIST += bindings/python/tests/test_events.py
EXTRA_DIST += bindings/python/tests/test_example.py
EXTRA_DIST += bindings/python/tests/test_interrupt.py
EXTRA_DIST += bindings/python/tests/test_life.py
EXTRA_DIST += bindings/python/tests/test_lock.py
EXTRA_DIST += bindings/python/tests/test_multi.py
EXTRA_DIST += bindings/python/tests/test_semaphore.py
EXTRA_DIST += bindings/python/tests/test_words.py
