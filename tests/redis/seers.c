/* See seers.h. */
#include "tests/redis/seers.h"

static struct seer {
	char name[4], host[64];
	int port, other;
	unsigned epoch, role_ms;
} seers[SEERS + 1];

struct lsh_uri uri;
leash_error err;

/* What of a mood is answered otherwise. */
static const struct {
	const char *mood, *command, *answer;
} moods[] = {
	{"strange", "SENTINEL G", "*-1\r\n"}, /* a beginning of its own, lest the rule of all moods go with it */
	{"strange", "SENTINEL MAS", "-ERR No such master with that name\r\n"},
	{"strange", "SENTINEL SEN", "-ERR No such master with that name\r\n"},
	{"terse", "SENTINEL M", "-NOPERM this user has no permissions to run the 'sentinel|master' command\r\n"},
	{"terse", "SENTINEL S", "-NOPERM this user has no permissions to run the 'sentinel|sentinels' command\r\n"},
	{"denying", "AUTH", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
	{"ordinary", "INF", "{redis_version:7.0.15\r\nredis_mode:standalone\r\n}"},
	{"mute", "", "silent"},
	{"closing", "", "close"},
};

/* ---- what they say ---- */

/* What SENTINEL MASTER says besides, and is of no use to anybody here. */
#define MORE "{link-pending-commands}{0}{link-refcount}{1}"

static void
tell(const struct seer *s)
{
	play("on %s 'SENTINEL GET-MASTER-ADDR-BY-NAME main' '*2\r\n{%s}{%d}'", s->name, s->host, s->port);
	play("on %s 'SENTINEL MASTER main' '*40\r\n{name}{main}{ip}{%s}{port}{%d}{flags}{master}{role-reported-time}{%u}"
	     "{config-epoch}{%u}" MORE MORE MORE MORE MORE MORE MORE "'", s->name, s->host, s->port, s->role_ms, s->epoch);
	play("on %s 'SENTINEL SENTINELS main' '%s'", s->name,
	     s->other == 0 ? "*0\r\n" : seen("*1\r\n*6\r\n{name}{0011}{ip}{127.0.0.1}{port}{%d}", s->other));
}

static void
start_seer(struct seer *s, int i)
{
	*s = (struct seer){.port = 1000, .epoch = 7, .host = "127.0.0.1", .name = {'s', (char)('0' + i)}};
	fakes_start(s->name, true);
	play("on %s INFO '{redis_version:7.0.15\r\nredis_mode:sentinel\r\n}';"
	     "on %s TIME \"-ERR unknown command 'TIME'\r\n\"; on %s SELECT \"-ERR unknown command 'SELECT'\r\n\"",
	     s->name, s->name, s->name);
	tell(s);
}

void
start_seers(void)
{
	log_start();
	for (int i = 0; i <= SEERS; i++)
		start_seer(&seers[i], i);
}

void
stop_seers(void)
{
	fakes_stop();
	log_stop();
}

void
write_uri(int count, const char *query)
{
	char text[512] = "redis+sentinel://";

	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%s127.0.0.1:%d", i > 0 ? "," : "", port_of(seers[i].name));
	sprintf(text + strlen(text), "/main%s", query);
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s", err.text);
}

/* ---- words ---- */

static struct seer *
seer_of(const char *name)
{
	return &seers[place_of(name, (const char *[]){"s0", "s1", "s2", "s3"}, SEERS + 1)];
}

VERB(is)
{
	for (size_t i = 0; i < COUNT(moods); i++)
		off(word[1], moods[i].command);
	for (size_t i = 0; i < COUNT(moods); i++)
		if (strcmp(word[2], moods[i].mood) == 0)
			play("on %s '%s' \"%s\"", word[1], moods[i].command, moods[i].answer);
	return NULL;
}

VERB(names)
{
	for (int i = 0; i <= SEERS; i++) {
		struct seer *s = &seers[i];

		if (strcmp(word[1], "all") != 0 && seer_of(word[1]) != s)
			continue;
		s->port = (int)number_of(word[2], 0);
		s->epoch = (unsigned)number_of(word[3], 0);
		snprintf(s->host, sizeof s->host, "%s", *word[4] != '\0' ? word[4] : "127.0.0.1");
		tell(s);
	}
	return NULL;
}

VERB(role)
{
	seer_of(word[1])->role_ms = (unsigned)number_of(word[2], 0);
	tell(seer_of(word[1]));
	return NULL;
}

VERB(knows)
{
	seer_of(word[1])->other = port_of(word[2]);
	tell(seer_of(word[1]));
	return NULL;
}

VERB(asked)
{
	size_t n = 0;

	for (int i = 0; i <= SEERS; i++)
		if (strcmp(word[1], "all") == 0 || seer_of(word[1]) == &seers[i])
			n += fake_count(fake_of(seers[i].name), "SENTINEL GET-MASTER-ADDR-BY-NAME");
	return seen_number((int64_t)n);
}

SEES(hears, seen_number((int64_t)fake_count(fake_of(word[1]), "SUBSCRIBE +switch-master")))

VERB(switch)
{
	char text[128];

	snprintf(text, sizeof text, "%s 127.0.0.1 1 127.0.0.1 2", *word[2] != '\0' ? word[2] : "main");
	return seen_number((int64_t)fake_publish(fake_of(word[1]), "+switch-master", text));
}
