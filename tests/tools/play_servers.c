/* The servers of a scene: ours and others, what is done to them, and what they answer. */
#include "tests/tools/play_parts.h"

#include "tests/support/kept.h"
#include "tests/support/quorum.h"
#include "tests/support/socket.h"

static struct server *
server_called(const char *name)
{
	if (*name == '\0')
		return server;
	for (int i = 0; i < FEW; i++)
		if (strcmp(play.servers[i].name, name) == 0)
			return play.servers[i].quorum != NULL ? quorum_server(play.servers[i].quorum, 2) : play.servers[i].server;
	play_wrong("there is no server %s", name);
}

static size_t
answer_as_a_web_server(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx, (void)argc, (void)argv, (void)argl;
	return fake_say(out, size, "HTTP/1.1 400 Bad Request\r\n\r\n");
}

VERB(quorum) /* n 2000 */
{
	play_split(rest);
	struct another *a = ENTRY(play.servers, play.words[0]);
	a->quorum = quorum_start(&(struct nodes_options){.count = 3});
	afterwards(nodes_stop, a->quorum);
	play_set(a->name, "%s", quorum_uri_guarded(a->quorum, atoi(play.words[1])));
	quorum_await_uptime(a->quorum, atoi(play.words[1]));
}

VERB(stranger)
{
	play_set(play_expand(rest), "%s", fake_uri(kept(fake_start(answer_as_a_web_server, NULL))));
}

static void
add_server(const char *name, struct server *s)
{
	struct another *a = ENTRY(play.servers, name);

	a->server = kept(s);
	play_set(a->name, "%s", server_uri(s));
	play_set("started", "%s", server_uri(s));
	play_set_of(a->name, "tcp", "%s", server_uri_tcp(s));
	play_set_of(a->name, "socket", "%s", server_socket(s));
	play_set_of(a->name, "port", "%d", server_port(s));
}

DOES(server, play_split(rest); add_server(play.words[0], SERVER_WITH(.port = ports_take(), .args = play.words + 1)))
DOES(clocked, play_split(rest); add_server(play.words[0], server_start_clocked(play.words + 1)))
DOES(ahead, play_split(rest); server_set_clock(server_called(play.words[0]), atoll(play.words[1])))

static void
go_on(void *paused)
{
	struct server *s = paused;

	if (server_pid(s) != 0)
		server_resume(s);
}

VERB(pause)
{
	struct server *s = server_called(play_expand(rest));

	server_pause(s);
	afterwards(go_on, s); /* before those are ended who came before */
}

DOES(resume, server_resume(server_called(play_expand(rest))))
DOES(kill, server_kill(server_called(play_expand(rest))))
DOES(restart, server_restart(server_called(play_expand(rest))))

const char *
play_answer(const char *line)
{
	play_split(line);
	int other = play.word_count > 0 && play.words[0][0] == '@';
	return server_text_of(server_called(other ? play.words[0] + 1 : ""), play.word_count - other, play.words + other);
}

static bool
is_answer(const char *got, const char *expected)
{
	if (expected[0] == '!')
		return !play_fits(got, expected + 1, true, true);
	if (expected[0] == '>' || expected[0] == '<')
		return expected[0] == '>' ? atoll(got) > atoll(expected + 1) : atoll(got) < atoll(expected + 1);
	return play_fits(got, expected, true, true);
}

static void
check_answer(char *line, bool waits, bool again)
{
	char *arrow = strstr(line, " =>"); /* with nothing behind it, if nothing is expected */
	int64_t limit = await_limit_ns(AWAIT_S);
	const char *got;

	if (arrow != NULL)
		*arrow = '\0';
	const char *expected = arrow != NULL ? play_expand(arrow + 3 + (arrow[3] == ' ')) : NULL;
	while (got = play_answer(again ? play_expand(line) : line), expected != NULL && !is_answer(got, expected)) {
		if (!waits || await_is_past(limit))
			play_wrong("it answers '%s'", got);
		await_ms(2);
	}
}

DOES(redis, check_answer(rest, false, false)) /* GET a => b */
VERB_AS(await_redis, "redis~") { check_answer(rest, true, false); }
VERB_AS(expand_redis, "redis!") { check_answer(rest, false, true); }
