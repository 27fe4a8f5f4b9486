#include "bench/async.h"

#include "bench/program.h"
#include "tests/support/await.h"

#include <hiredis/async.h>

#include <poll.h>
#include <stdlib.h>

struct seat {
	struct async *async;
	struct hiredis_desk *desk;
	bool releases; /* that is under way; else an acquire */
};

struct async {
	redisAsyncContext *connection;
	short events;      /* what hiredis wants to be told of */
	bool over;         /* nothing new is begun */
	size_t under_way;
	uint64_t pairs;
	size_t count;
	struct seat seats[];
};

/* ---- the loop, as hiredis asks for one ---- */

static void
add_read(void *async)
{
	((struct async *)async)->events |= POLLIN;
}

static void
add_write(void *async)
{
	((struct async *)async)->events |= POLLOUT;
}

static void
del_read(void *async)
{
	((struct async *)async)->events &= ~POLLIN;
}

static void
del_write(void *async)
{
	((struct async *)async)->events &= ~POLLOUT;
}

static void
clean_up(void *async)
{
	((struct async *)async)->events = 0;
}

static void
turn(struct async *a)
{
	struct pollfd polled = { .fd = a->connection->c.fd, .events = a->events };

	if (poll(&polled, 1, 1000) < 0)
		return;
	if (polled.revents & POLLOUT)
		redisAsyncHandleWrite(a->connection);
	if (polled.revents & ~POLLOUT)
		redisAsyncHandleRead(a->connection);
}

/* ---- what is said ---- */

static void answered(redisAsyncContext *connection, void *reply, void *arg);

static void
begin(struct seat *seat, bool release)
{
	const char **args;
	const size_t *sizes;
	int count = hiredis_args(seat->desk, release, &args, &sizes);

	seat->releases = release;
	if (redisAsyncCommandArgv(seat->async->connection, answered, seat, count, args, sizes) != REDIS_OK)
		die("hiredis: %s", seat->async->connection->errstr);
	seat->async->under_way++;
}

static void
answered(redisAsyncContext *connection, void *reply, void *arg)
{
	struct seat *seat = arg;
	struct async *a = seat->async;

	if (reply == NULL)
		die("hiredis: %s", connection->errstr);
	hiredis_check(reply, seat->releases);
	a->under_way--;
	a->pairs += seat->releases;
	if (!seat->releases)
		begin(seat, true);
	else if (!a->over)
		begin(seat, false);
}

/* ---- life ---- */

struct async *
async_new(struct hiredis_desk *const *desks, size_t count, int port)
{
	struct async *a = calloc(1, sizeof *a + count * sizeof *a->seats);

	if (a == NULL)
		die("no memory");
	a->connection = redisAsyncConnect("127.0.0.1", port);
	if (a->connection == NULL || a->connection->err != 0)
		die("hiredis: %s", a->connection != NULL ? a->connection->errstr : "no memory");
	a->connection->ev.data = a;
	a->connection->ev.addRead = add_read;
	a->connection->ev.delRead = del_read;
	a->connection->ev.addWrite = add_write;
	a->connection->ev.delWrite = del_write;
	a->connection->ev.cleanup = clean_up;
	add_write(a); /* when it is connected */
	a->count = count;
	for (size_t i = 0; i < count; i++)
		a->seats[i] = (struct seat){ .async = a, .desk = desks[i] };
	return a;
}

void
async_free(struct async *a)
{
	redisAsyncFree(a->connection);
	free(a);
}

uint64_t
async_run(struct async *a, int64_t ns)
{
	int64_t until = await_now_ns() + ns;

	a->pairs = 0;
	a->over = false;
	for (size_t i = 0; i < a->count; i++)
		begin(&a->seats[i], false);
	while (a->under_way > 0) {
		turn(a);
		a->over = a->over || await_now_ns() >= until;
	}
	return a->pairs;
}
