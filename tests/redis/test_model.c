/* Many steps in any order, against a model of what they do; and the scripts that the build embeds. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

/* What lib/lua/README.md says of one lock, in C: six tokens, two per client. */
struct model {
	int holder;      /* -1: nobody */
	int queue[6];
	int waiting;
	bool dead[3];    /* its last word is too old */
	bool fresh[6];   /* its place is not */
	bool listens[3];
	bool given;      /* the last step gave the lock to somebody */
};

static const char *const walkers[] = { ANN1, ANN2, BOB1, BOB2, CID1, CID2 };
static const char *const clients[] = { ANN, BOB, CID };

static int
place_of(const struct model *m, int token)
{
	for (int i = 0; i < m->waiting; i++)
		if (m->queue[i] == token)
			return i;
	return -1;
}

static void
drop(struct model *m, int place)
{
	for (m->waiting--; place < m->waiting; place++)
		m->queue[place] = m->queue[place + 1];
}

static void
give(struct model *m, int token)
{
	m->holder = token;
	m->given = true;
}

static void
hand_on(struct model *m, int me)
{
	while (m->holder < 0 && m->waiting > 0) {
		int token = m->queue[0];

		drop(m, 0);
		if (token == me || ((m->fresh[token] || !m->dead[token / 2]) && m->listens[token / 2]))
			give(m, token);
	}
}

static void
model_ask(struct model *m, int token, bool wait)
{
	if (m->holder == token)
		return;
	if (m->holder < 0 && m->waiting == 0) {
		give(m, token);
		return;
	}
	if (wait) {
		if (place_of(m, token) >= 0) {
			m->dead[token / 2] = false;
		} else {
			m->queue[m->waiting++] = token;
			m->fresh[token] = true;
		}
	}
	hand_on(m, token);
	if (m->holder < 0)
		give(m, token);
}

static int
model_release(struct model *m, int token)
{
	int place = place_of(m, token), found = 0;

	if (m->holder == token) {
		m->holder = -1;
		found = 1;
	} else if (place >= 0) {
		drop(m, place);
		found = 2;
	}
	hand_on(m, -1);
	return found;
}

static void
model_word(struct model *m, int token)
{
	if (m->waiting > 0)
		m->dead[token / 2] = false;
	hand_on(m, -1);
}

/* A number below n, the same ones in each run. */
static int
chance(uint64_t *seed, int n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((*seed >> 33) % (uint64_t)n);
}

static void
toggle_listener(struct model *m, int client, struct pubsub *pubsub)
{
	messages(pubsub);
	redisAppendCommand(pubsub->connection, "%s leash:wake:%s", m->listens[client] ? "UNSUBSCRIBE" : "SUBSCRIBE", clients[client]);
	freeReplyObject(heard(pubsub));
	m->listens[client] = !m->listens[client];
}

/* One step by both, or something that happens to them. */
static void
walk(struct model *m, uint64_t *seed, struct pubsub *const *ears)
{
	int token = chance(seed, 6), client = token / 2, found;
	const char *name = walkers[token];
	struct answer answer;

	m->given = false;
	switch (chance(seed, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		model_ask(m, token, true);
		answer = ask(name);
		assert_int_equal(is_fence(answer), m->holder == token);
		break;
	case 4:
		model_ask(m, token, false);
		answer = try(name);
		assert_int_equal(is_fence(answer), m->holder == token);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		if (chance(seed, 2) == 0 && m->holder >= 0)
			name = walkers[token = m->holder];
		found = model_release(m, token);
		assert_number(release(name), found);
		break;
	case 9:
	case 10:
		model_word(m, token);
		answer = word(clients[client], name);
		if (m->holder == token)
			assert_last_fence(state_of(answer));
		else
			assert_int_equal(state_of(answer), place_of(m, token) >= 0 ? 0 : -1);
		break;
	case 11:
		assert_number(renew(name, "600000", "2"), m->holder == token);
		break;
	case 12:
		expire(LOCK);
		m->holder = -1;
		break;
	case 13:
		if (place_of(m, token) >= 0 && !m->dead[client]) {
			bury(clients[client]);
			m->dead[client] = true;
			memset(m->fresh, 0, sizeof m->fresh);
		}
		break;
	case 14:
		toggle_listener(m, client, ears[client]);
		break;
	default:
		/* The clock goes back a second, as far as the fence can tell. */
		if (exists(FENCE))
			server_text(server, "SET " FENCE " %lld PX 86400000", (long long)last_fence() + 1000000);
	}
}

static void
assert_as_in(const struct model *m)
{
	char expected[512] = "";
	size_t n = 0;

	assert_string_equal(holder(), m->holder < 0 ? "" : walkers[m->holder]);
	for (int i = 0; i < m->waiting; i++)
		n += (size_t)snprintf(expected + n, sizeof expected - n, "%s%s 60000", i ? " " : "", walkers[m->queue[i]]);
	assert_string_equal(places(), expected);
}

FIXTURE(clean, close_listeners);
GROUP(start, stop);

SENTENCE(the_build_and_the_server_agree_on_the_scripts_hashes)
{
	static const struct lsh_script *const scripts[] = {
		&lsh_script_acquire, &lsh_script_heartbeat, &lsh_script_inspect,
		&lsh_script_raise,   &lsh_script_release,   &lsh_script_renew,
	};

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		assert_int_equal(scripts[i]->size, strlen(scripts[i]->text));
		assert_string_equal(server_text(server, "SCRIPT LOAD %s", scripts[i]->text), scripts[i]->sha1);
	}
}

SENTENCE(any_order_of_steps_does_what_the_model_does)
{
	struct model m = { .holder = -1, .listens = { true, true, true } };
	struct pubsub *const ears[] = { listen_for(ANN), listen_for(BOB), listen_for(CID) };
	uint64_t seed = 1;
	int64_t fence = 0;

	for (int i = 0; i < 4000; i++) {
		walk(&m, &seed, ears);
		assert_as_in(&m);
		if (m.given)
			assert_true(last_fence() > fence);
		if (exists(FENCE))
			fence = last_fence();
	}
}
