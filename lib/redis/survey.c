/* CLUSTER SLOTS answers an array of ranges, each an array of its first slot, its last slot, its master and its replicas; each of these
 * an array of host, port and, all but always, id, and with Redis 7 of further names for the host, which need not concern us: the first
 * is the one that the administrator wants to be used. It may be "" or nil (the one that we used to ask) or "?" (there is none).
 *
 * It is believed in full or not at all: a node that says one impossible thing is not one to learn from. */
#include "redis/survey.h"

#include "base/text.h"
#include "base/token.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/talk.h"

#include <string.h>

/* What could be a name or an address: nothing that could break a line, a URI or a list. */
static bool
is_host(const char *text, size_t size)
{
	if (size == 0 || size >= LSH_HOST_SIZE)
		return false;
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~' || strchr("/@,?#[]", text[i]) != NULL)
			return false;
	return true;
}

static bool
read_number(const struct redisReply *answer, int64_t most, int64_t *n)
{
	struct lsh_item item = lsh_answer_item(answer);

	*n = item.integer;
	return answer != NULL && item.type == LSH_INTEGER && *n >= 0 && *n <= most;
}

/* ---- nodes ---- */

enum heard { NONSENSE, NO_ADDRESS, ADDRESS };

static enum heard
read_node(struct lsh_surveyed *node, const struct redisReply *answer, const char *asked)
{
	struct lsh_item host = lsh_answer_item(lsh_answer_at(answer, 0)), id = lsh_answer_item(lsh_answer_at(answer, 2));
	int64_t port;

	if (lsh_answer_count(answer) < 2 || !read_number(lsh_answer_at(answer, 1), UINT16_MAX, &port))
		return NONSENSE;
	if (host.type != LSH_NIL && host.type != LSH_STRING)
		return NONSENSE;
	*node = (struct lsh_surveyed){.host = host.text, .port = (uint16_t)port, .id = id.type == LSH_STRING ? id.text : ""};
	if (host.type == LSH_NIL || host.length == 0)
		node->host = asked;
	else if (host.length == 1 && host.text[0] == '?')
		return NO_ADDRESS;
	else if (!is_host(host.text, host.length))
		return NONSENSE;
	return port != 0 ? ADDRESS : NO_ADDRESS;
}

/* By a seed of our own: a node is not to choose names that all come to the same place. */
static unsigned
hash(const struct lsh_survey *s, const struct lsh_surveyed *node)
{
	unsigned h = s->seed ^ node->port;

	for (const char *at = node->host; *at != '\0'; at++)
		h = (h ^ (unsigned)(*at | 0x20)) * 16777619u; /* letter case aside */
	return h;
}

/* Its place among the nodes, or LSH_SURVEYED if there is no more room. The table is never more than half full. */
static unsigned
place_of(struct lsh_survey *s, const struct lsh_surveyed *node)
{
	unsigned at = hash(s, node) % LSH_SURVEY_PLACES;

	for (; s->place[at] != LSH_NOBODY; at = (at + 1) % LSH_SURVEY_PLACES) {
		const struct lsh_surveyed *known = &s->node[s->place[at]];

		if (known->port == node->port && strcasecmp(known->host, node->host) == 0)
			return (unsigned)s->place[at];
	}
	if (s->count == LSH_SURVEYED)
		return LSH_SURVEYED;
	s->place[at] = (int16_t)s->count;
	s->node[s->count] = *node;
	return s->count++;
}

/* ---- ranges ---- */

static const char *
take_range(struct lsh_survey *s, const struct redisReply *range, const char *asked)
{
	struct lsh_surveyed node;
	int64_t first, last;
	unsigned place = LSH_SURVEYED;
	enum heard heard;

	if (lsh_answer_count(range) < 2 || !read_number(lsh_answer_at(range, 0), LSH_SLOTS - 1, &first) ||
	    !read_number(lsh_answer_at(range, 1), LSH_SLOTS - 1, &last) || first > last)
		return "a range of slots that is none";
	if (lsh_answer_count(range) == 2)
		return NULL; /* nobody has it */
	heard = read_node(&node, lsh_answer_at(range, 2), asked);
	if (heard == NONSENSE)
		return "a master that is none";
	if (heard == ADDRESS && (place = place_of(s, &node)) == LSH_SURVEYED)
		return "too many nodes";
	if (heard == ADDRESS)
		s->node[place].master = true;
	for (int64_t slot = first; slot <= last; slot++) {
		if (s->at[slot] != LSH_NOBODY)
			return "a slot that two have";
		s->at[slot] = (int16_t)(heard == ADDRESS ? (int)place : LSH_NOT_SAID);
	}
	s->served += (unsigned)(last - first + 1);
	return NULL;
}

static const char *
take_replicas(struct lsh_survey *s, const struct redisReply *range, const char *asked)
{
	struct lsh_surveyed node;

	for (size_t i = 3; i < lsh_answer_count(range); i++) {
		enum heard heard = read_node(&node, lsh_answer_at(range, i), asked);

		if (heard == NONSENSE)
			return "a replica that is none";
		if (heard == ADDRESS)
			place_of(s, &node);
	}
	return NULL;
}

bool
lsh_survey_read(struct lsh_survey *s, const struct redisReply *slots, const char *asked, const char **why)
{
	*why = lsh_answer_item(slots).type == LSH_ARRAY ? NULL : "no array";
	s->healthy = true;
	s->epoch = 0;
	s->served = s->count = 0;
	s->seed = lsh_random32();
	for (size_t i = 0; i < LSH_SLOTS; i++)
		s->at[i] = LSH_NOBODY;
	for (size_t i = 0; i < LSH_SURVEY_PLACES; i++)
		s->place[i] = LSH_NOBODY;
	for (size_t i = 0; i < lsh_answer_count(slots) && *why == NULL; i++)
		*why = take_range(s, lsh_answer_at(slots, i), asked);
	for (size_t i = 0; i < lsh_answer_count(slots) && *why == NULL; i++)
		*why = take_replicas(s, lsh_answer_at(slots, i), asked);
	return *why == NULL;
}

void
lsh_survey_read_info(struct lsh_survey *s, const struct redisReply *info)
{
	struct lsh_item item = lsh_answer_item(info);
	const char *value;
	size_t size;

	if (item.type != LSH_STRING)
		return;
	value = lsh_info_find(item.text, "cluster_state", &size);
	s->healthy = value == NULL || (size == 2 && memcmp(value, "ok", 2) == 0);
	value = lsh_info_find(item.text, "cluster_current_epoch", &size);
	if (value != NULL)
		lsh_decimal_read(value, size, &s->epoch);
}

/* ---- redirections ---- */

bool
lsh_redirection_read(const char *text, const char *verb, unsigned *slot, char *host, uint16_t *port)
{
	const char *number = strchr(text, ' '), *place = number != NULL ? strchr(++number, ' ') : NULL, *colon;
	size_t size = strlen(text);
	uint64_t n, p;

	/* a reply keeps so much of a text; of a port of which the last digits are missing nobody would know */
	if (place == NULL || !lsh_starts_with_word(text, verb) || size >= LSH_REPLY_TEXT - 1)
		return false;
	colon = strrchr(++place, ':'); /* an IPv6 address has some of its own */
	if (colon == NULL || !lsh_decimal_read(number, (size_t)(place - 1 - number), &n) || n >= LSH_SLOTS)
		return false;
	if (!lsh_decimal_read(colon + 1, (size_t)(text + size - colon - 1), &p) || p == 0 || p > UINT16_MAX)
		return false;
	size = (size_t)(colon - place);
	if (size > 0 && !is_host(place, size))
		return false;
	memcpy(host, place, size);
	host[size] = '\0';
	if (strcmp(host, "?") == 0)
		return false;
	*slot = (unsigned)n;
	*port = (uint16_t)p;
	return true;
}
