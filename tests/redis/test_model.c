/* Many steps in any order, of a mutex and of those who share, against a model of what lib/lua/README.md says. */
#include "tests/redis/steps.h"
#include "tests/support/random.h"

enum { WHOS = 8, CLIENTS = 3 };

/* A mutex is had alone, as all of what is shared may be. */
static const struct family {
	const char *ask, *try, *release, *word, *renew, *depth;
	int count;
	struct who {
		const char *name;
		int client, permits, of; /* of 0: any number; -1: alone */
	} whos[WHOS];
} mutex = {
	"ask", "try", "release", "word", "renew", " 2", 6,
	{{"A1", 0, 1, -1}, {"A2", 0, 1, -1}, {"B1", 1, 1, -1}, {"B2", 1, 1, -1}, {"C1", 2, 1, -1}, {"C2", 2, 1, -1}},
}, shared = {
	"share", "probe", "part", "beat", "prolong", "", 8,
	{{"A1_w", 0, 1, -1}, {"A2_1/0", 0, 1, 0}, {"A3_2/3", 0, 2, 3}, {"B1_1/3", 1, 1, 3}, {"B2_3/4", 1, 3, 4},
	 {"C1_1/0", 2, 1, 0}, {"C2_w", 2, 1, -1}, {"C3_1/1", 2, 1, 1}},
}, *family;
static const struct who *whos; /* of the family */
static const char *const clients[CLIENTS] = {"A", "B", "C"};

struct model {
	bool in[WHOS], ended[WHOS];             /* not in any more, but nobody has come in since */
	int queue[WHOS], waiting, age_ms[WHOS]; /* of places */
	bool spoke[CLIENTS], listens[CLIENTS];  /* it has said a word, a moment ago */
	int told[CLIENTS], last[CLIENTS];       /* messages that it heard; whom the last lets in, -1: it is called */
	int lease_ms;                           /* of the mutex */
	int limit;                              /* -1: none */
	bool issued;                            /* the last step issued a fence */
};

static const char *
need_of(int who)
{
	return whos[who].name[2] == '_' ? whos[who].name + 3 : "";
}

static int
out(const struct model *m)
{
	int n = 0;

	for (int i = 0; i < family->count; i++)
		n += m->in[i] ? whos[i].permits : 0;
	return n;
}

static bool
is_closed(const struct model *m)
{
	for (int i = 0; i < family->count; i++)
		if (m->in[i] && whos[i].of < 0)
			return true;
	return false;
}

static bool
has_room(const struct model *m, int who)
{
	int used = out(m), most = m->limit >= 0 ? m->limit : whos[who].of;

	if (is_closed(m))
		return false;
	if (whos[who].of < 0)
		return used == 0 && m->limit != 0;
	return (most == 0 && m->limit < 0) || used + whos[who].permits <= most || (used == 0 && most > 0);
}

static void
give(struct model *m, int who, bool hears)
{
	m->issued |= out(m) == 0;
	m->lease_ms = CLAIM;
	memset(m->ended, 0, sizeof m->ended);
	m->in[who] = hears;
}

static int
place_of_who(const struct model *m, int who)
{
	for (int i = 0; i < m->waiting; i++)
		if (m->queue[i] == who)
			return i;
	return -1;
}

static void
drop(struct model *m, int place)
{
	for (m->waiting--; place < m->waiting; place++)
		m->queue[place] = m->queue[place + 1];
	if (m->waiting == 0)
		memset(m->spoke, 0, sizeof m->spoke);
}

static void
hand_on(struct model *m, int me)
{
	int deaf = -1;

	while (m->waiting > 0 && !is_closed(m)) {
		const int who = m->queue[0], client = whos[who].client, age_ms = m->age_ms[who];
		const bool lives = who == me || (client != deaf && (age_ms <= ALIVE || m->spoke[client]));
		const bool hears = who == me || m->listens[client], fits = has_room(m, who);

		if (lives && !fits && (who == me || age_ms <= CLAIM || m->spoke[client]))
			return;
		if (lives && fits)
			give(m, who, hears);
		if (lives && !hears)
			deaf = client;
		if (lives && who != me && hears) {
			m->told[client]++;
			m->last[client] = fits ? who : -1;
		}
		if (lives && !fits && hears)
			return;
		drop(m, 0);
	}
}

static void
model_ask(struct model *m, int who, bool waits)
{
	const bool first = m->waiting == 0;

	if (m->in[who])
		return;
	if (first && has_room(m, who)) {
		give(m, who, true);
		return;
	}
	if (waits && place_of_who(m, who) >= 0) {
		m->spoke[whos[who].client] = true;
	} else if (waits) {
		m->queue[m->waiting++] = who;
		m->age_ms[who] = 0;
	}
	if (!first)
		hand_on(m, who);
	if (m->waiting == 0 && !m->in[who] && has_room(m, who))
		give(m, who, true);
}

static int
model_part(struct model *m, int who)
{
	const int place = place_of_who(m, who), found = place >= 0 ? 2 : m->in[who] || m->ended[who];

	m->in[who] = m->ended[who] = false;
	if (found == 2)
		drop(m, place);
	hand_on(m, -1);
	return found;
}

static void
bury(struct model *m, int client)
{
	bool lives[CLIENTS];

	memcpy(lives, m->spoke, sizeof lives);
	for (int i = 0; i < m->waiting; i++)
		lives[whos[m->queue[i]].client] |= m->age_ms[m->queue[i]] <= ALIVE;
	play("bury %s", clients[client]);
	for (int i = 0; i < m->waiting; i++)
		m->age_ms[m->queue[i]] += ALIVE + 1;
	lives[client] = false;
	memcpy(m->spoke, lives, sizeof lives);
}

/* The first from there on; if nobody is, the one from there. */
static int
somebody_in(const struct model *m, int from)
{
	for (int i = 0; i < family->count && !m->in[from]; i++)
		from = (from + 1) % family->count;
	return from;
}

/* Its lease is over, which nobody has seen yet; but a mutex is gone then. */
static void
end(struct model *m, int who)
{
	m->in[who] = false;
	m->ended[who] = family == &shared;
	if (family == &mutex)
		play("DEL LOCK");
	for (int i = 1; family == &shared && i <= whos[who].permits; i++)
		play("ZADD LOCK 1 '%s%s'", whos[who].name, i > 1 ? seen(" %d", i) : "");
}

static void
befall(struct model *m, int who, uint64_t *seed)
{
	const int client = whos[who].client, what = (int)random_below(seed, 7);

	if (what < 2 && out(m) > 0) {
		end(m, somebody_in(m, who));
	} else if (what == 2 && family == &shared) {
		m->limit = (int)random_below(seed, 7) - 1;
		play("limit %s", m->limit >= 0 ? seen_number(m->limit) : "1 0");
		hand_on(m, -1);
	} else if (what == 3 && place_of_who(m, who) >= 0) {
		bury(m, client);
	} else if (what == 4) {
		play("age %d", CLAIM + 1); /* so much time has passed since places were taken */
		for (int i = 0; i < m->waiting; i++)
			m->age_ms[m->queue[i]] += CLAIM + 1;
	} else if (what == 5 && exists("leash:{orders}:fence")) {
		play("SET FENCE last+1000000 PX 86400000"); /* the clock goes back a second, as far as the fence can tell */
		m->issued = true;
	} else if (what == 6) {
		play("deafen %s", clients[client]);
		m->listens[client] = !m->listens[client];
	}
}

static void
walk(struct model *m, uint64_t *seed)
{
	const int what = (int)random_below(seed, 16);
	int who = (int)random_below(seed, (unsigned)family->count);

	m->issued = false;
	if (what < 6) {
		model_ask(m, who, what < 4);
		play("%s %s = %s", what < 4 ? family->ask : family->try, whos[who].name, m->in[who] ? "last" : "no");
	} else if (what < 10) {
		who = what < 8 ? somebody_in(m, who) : who;
		play("%s %s = %d", family->release, whos[who].name, model_part(m, who));
	} else if (what < 12) {
		m->spoke[whos[who].client] |= m->waiting > 0;
		hand_on(m, -1);
		play("%s %s = %s", family->word, whos[who].name,
		     m->in[who] ? "held" : place_of_who(m, who) >= 0 ? "queued" : "none");
	} else if (what == 12) {
		play("%s %s 600000%s = %d", family->renew, whos[who].name, family->depth, m->in[who]);
	} else {
		befall(m, who, seed);
	}
	if (m->in[who] && (what < 6 || (what >= 10 && what <= 12)))
		m->lease_ms = LEASE;
}

/* The last message of a client is the one that it was told. */
static void
assert_told(const char *client, int told, int last)
{
	const struct pubsub *l = listener(client[0]);
	const int before = l->messages;

	play("messages_of %s = %d", client, told);
	if (told > before && last < 0)
		play("message %s = p", client);
	else if (told > before)
		play("message %s = g %.2s last LOCK %s", client, whos[last].name, need_of(last));
}

static void
assert_as_in(const struct model *m)
{
	const char *in = holders();
	char line[128] = "-";

	for (int i = 0, n = 0; i < m->waiting; i++)
		n += sprintf(line + n, "%.2s %s ", whos[m->queue[i]].name, need_of(m->queue[i]));
	play("waiting = %s", line);
	if (family == &mutex && out(m) > 0)
		play("PTTL LOCK = ~%d", m->lease_ms);
	for (int i = 0; i < CLIENTS; i++)
		assert_told(clients[i], m->told[i], m->last[i]);
	for (int i = 0; i < family->count; i++)
		assert_int_equal(m->in[i], strstr(in, token_of((char[]){whos[i].name[0], whos[i].name[1], '\0'})) != NULL);
}

static void
walk_on(const struct family *of)
{
	struct model m = {.listens = {true, true, true}, .limit = -1};
	uint64_t seed = 1;
	int64_t fence = 0;

	family = of;
	whos = of->whos;
	play("listen A; listen B; listen C");
	for (int i = 0; i < 8000; i++) {
		walk(&m, &seed);
		assert_as_in(&m);
		if (!exists("leash:{orders}:fence"))
			continue;
		assert_true(m.issued ? last_fence() > fence : last_fence() == fence);
		fence = last_fence();
	}
}

SENTENCE(any_order_of_steps_does_what_the_model_does)
{
	walk_on(&mutex);
}

SENTENCE(any_order_of_steps_of_those_who_share_does_what_the_model_does)
{
	walk_on(&shared);
}
