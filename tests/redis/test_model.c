/* Many steps in any order, against a model of what they do. */
#include "tests/redis/steps.h"
#include "tests/support/random.h"

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

static const char *const walkers[] = {"A1", "A2", "B1", "B2", "C1", "C2"};
static const char *const clients[] = {"A", "B", "C"};

static int
place_in(const struct model *m, int token)
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
		if (place_in(m, token) >= 0) {
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
	int place = place_in(m, token), found = 0;

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

/* One step by both, or something that happens to them. */
static void
walk(struct model *m, uint64_t *seed)
{
	const int token = (int)random_below(seed, 6), client = token / 2, what = (int)random_below(seed, 16);
	int who = token;

	m->given = false;
	if (what < 5) {
		model_ask(m, token, what < 4);
		play("%s %s = %s", what < 4 ? "ask" : "try", walkers[token], m->holder == token ? "fence" : "no");
	} else if (what < 9) {
		if (random_below(seed, 2) == 0 && m->holder >= 0)
			who = m->holder;
		play("release %s = %d", walkers[who], model_release(m, who));
	} else if (what < 11) {
		model_word(m, token);
		play("word %s = %s", walkers[token],
		     m->holder == token ? "held" : place_in(m, token) >= 0 ? "queued" : "none");
	} else if (what == 11) {
		play("renew %s 600000 2 = %d", walkers[token], m->holder == token);
	} else if (what == 12) {
		play("DEL LOCK");
		m->holder = -1;
	} else if (what == 13 && place_in(m, token) >= 0 && !m->dead[client]) {
		play("bury %s", clients[client]);
		for (int i = 0; i < m->waiting; i++) /* the others have said a word just now, if they lived */
			m->dead[m->queue[i] / 2] &= !m->fresh[m->queue[i]];
		m->dead[client] = true;
		memset(m->fresh, 0, sizeof m->fresh);
	} else if (what == 14) {
		play("deafen %s", clients[client]);
		m->listens[client] = !m->listens[client];
	} else if (what == 15 && exists("leash:{orders}:fence")) {
		play("SET FENCE last+1000000 PX 86400000"); /* the clock goes back a second, as far as the fence can tell */
	}
}

static void
assert_as_in(const struct model *m)
{
	char line[64] = "-";

	for (int i = 0; i < m->waiting; i++)
		sprintf(line + 3 * i, "%s ", walkers[m->queue[i]]);
	play("holder = %s; waiting = %s", m->holder < 0 ? "-" : walkers[m->holder], line);
}

SENTENCE(any_order_of_steps_does_what_the_model_does)
{
	struct model m = {.holder = -1, .listens = {true, true, true}};
	uint64_t seed = 1;
	int64_t fence = 0;

	play("listen A; listen B; listen C");
	for (int i = 0; i < 4000; i++) {
		walk(&m, &seed);
		assert_as_in(&m);
		if (m.given)
			assert_true(last_fence() > fence);
		if (exists("leash:{orders}:fence"))
			fence = last_fence();
	}
}
