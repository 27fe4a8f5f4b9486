/* See seers.h. */
#include "tests/redis/seers.h"

enum { ANSWER = 2048 };

static struct seer {
	char name[4], host[64];
	int port, other;
	unsigned epoch, role_ms;
} seers[SEERS + 1];

struct lsh_uri uri;
leash_error err;
struct lsh_courier *courier;

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
	{"ordinary", "INF", "$45\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\r\n"},
	{"mute", "", "silent"},
	{"closing", "", "close"},
};

/* ---- what they say ---- */

static void put(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A word, as it goes over the wire. */
static void
put(char *out, const char *format, ...)
{
	char word[128];
	va_list args;

	va_start(args, format);
	vsnprintf(word, sizeof word, format, args);
	va_end(args);
	snprintf(out + strlen(out), ANSWER - strlen(out), "$%zu\r\n%s\r\n", strlen(word), word);
}

/* As long as a real one: most of it is of no use to anybody here. */
static size_t
put_master(const struct seer *s, char *out)
{
	strcpy(out, "*40\r\n");
	put(out, "name"), put(out, "main");
	put(out, "ip"), put(out, "%s", s->host);
	put(out, "port"), put(out, "%d", s->port);
	put(out, "flags"), put(out, "master");
	put(out, "role-reported-time"), put(out, "%u", s->role_ms);
	put(out, "config-epoch"), put(out, "%u", s->epoch);
	for (int i = 6; i < 20; i++)
		put(out, "link-pending-commands"), put(out, "0");
	return strlen(out);
}

size_t
seer_master(char *out)
{
	return put_master(&seers[0], out);
}

static void
tell(const struct seer *s)
{
	char address[ANSWER] = "*2\r\n", master[ANSWER], others[ANSWER] = "*1\r\n*6\r\n";

	put(address, "%s", s->host), put(address, "%d", s->port);
	put_master(s, master);
	put(others, "name"), put(others, "0011");
	put(others, "ip"), put(others, "127.0.0.1");
	put(others, "port"), put(others, "%d", s->other);
	on(s->name, "SENTINEL GET-MASTER-ADDR-BY-NAME main", "%s", address);
	on(s->name, "SENTINEL MASTER main", "%s", master);
	on(s->name, "SENTINEL SENTINELS main", "%s", s->other != 0 ? others : "*0\r\n");
}

static void
start_seer(struct seer *s, int i)
{
	*s = (struct seer){.port = 1000, .epoch = 7, .host = "127.0.0.1", .name = {'s', (char)('0' + i)}};
	fakes_start(s->name, true);
	on(s->name, "INFO", "$43\r\nredis_version:7.0.15\r\nredis_mode:sentinel\r\n\r\n");
	on(s->name, "TIME", "-ERR unknown command 'TIME'\r\n");
	on(s->name, "SELECT", "-ERR unknown command 'SELECT'\r\n");
	tell(s);
}

void
start_seers(void)
{
	courier = log_start();
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
			on(word[1], moods[i].command, "%s", moods[i].answer);
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
