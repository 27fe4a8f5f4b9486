/* TLS as a connector meets it: who is let in, who is not, and with which words; never is anything said in plain text instead. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "redis/tls_context.h"
#include "tests/support/certs.h"
#include "tests/support/descriptors.h"
#include "tests/support/server.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* Formatted; it lasts for the next seven. */
static const char *words(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *
words(const char *format, ...)
{
	static char texts[8][1024];
	static unsigned next;
	char *text = texts[next++ % 8];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof texts[0], format, args);
	va_end(args);
	return text;
}

/* A URI of a server at 127.0.0.1. */
static const char *
uri_of(int port, const char *scheme, const char *query)
{
	return words("%s://127.0.0.1:%d%s%s", scheme, port, *query != '\0' ? "?" : "", query);
}

/* Both connections that a client makes. */
static void
check_let_in(const char *text)
{
	for (int i = 0; i < 2; i++) {
		enum lsh_progress progress = dial_to(text, "leash-test", i == 0 ? NULL : "channel");

		if (progress != LSH_DONE)
			fail_msg("%s: %s", text, err.text);
		assert_non_null(hello.stream.tls);
		assert_true(hello.version != 0);
		lsh_stream_discard(&hello.stream);
	}
}

static void
check_refused(const char *text, leash_status status, const char *part)
{
	unsigned fds = descriptors_count();

	check_failed(dial_to(text, "leash-test", NULL), status, part);
	assert_int_equal(descriptors_count(), fds);
	check_failed(dial_to(text, "leash-test", "channel"), status, part);
	check_contains(err.text, "127.0.0.1:");
}

GROUP(start_tcp_server, stop_server);

/* ---- whom we believe ---- */

SENTENCE(a_server_is_believed_whose_certificate_is_for_it)
{
	struct server *s = server_start_tls(CERTS_SERVER, false, NULL);
	const char *query;

	check_let_in(uri_of(server_port(s), "rediss", certs_query()));
	query = words("%s&server_name=localhost", certs_query());
	check_let_in(uri_of(server_port(s), "rediss", query));
	query = words("rediss://localhost:%d?%s", server_port(s), certs_query());
	check_let_in(query);
	check_let_in(uri_of(server_port(s), "rediss", "verify=no"));

	/* the system's authorities, as OpenSSL lets them be named */
	assert_int_equal(setenv("SSL_CERT_FILE", certs_file(CERTS_AUTHORITY), 1), 0);
	check_let_in(uri_of(server_port(s), "rediss", ""));
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
	server_stop(s);
}

SENTENCE(a_certificate_that_is_named_itself_is_believed)
{
	const enum certs_of whose[] = {CERTS_OWN, CERTS_FOREIGN};

	for (size_t i = 0; i < sizeof whose / sizeof *whose; i++) {
		struct server *s = server_start_tls(whose[i], false, NULL);
		const char *query;

		query = words("cafile=%s", certs_file(whose[i]));
		check_let_in(uri_of(server_port(s), "rediss", query));
		server_stop(s);
	}
}

SENTENCE(each_wrong_certificate_is_refused_with_its_own_words)
{
	static const struct {
		enum certs_of whose;
		const char *why;
	} wrong[] = {
		{CERTS_FOREIGN, "its certificate is refused: unable to get local issuer certificate; "
		                "the cafile does not have its issuer (Other Authority)"},
		{CERTS_OWN, "signed certificate; the cafile does not have its issuer (own)"}, /* with '-' or ' ' before it */
		{CERTS_ELSEWHERE, "its certificate is refused: IP address mismatch; subjectAltName must have "
		                  "IP:127.0.0.1 (a CN does not count), or the URI another server_name"},
		{CERTS_EXPIRED, "its certificate is refused: certificate has expired"},
		{CERTS_EARLY, "its certificate is refused: certificate is not yet valid; "
		              "is the clock of this machine right?"},
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct server *s = server_start_tls(wrong[i].whose, false, NULL);

		check_refused(uri_of(server_port(s), "rediss", certs_query()), LEASH_DENIED, wrong[i].why);
		if (wrong[i].whose == CERTS_FOREIGN)
			check_refused(uri_of(server_port(s), "rediss", ""), LEASH_DENIED,
			              "local issuer certificate; name a cafile that has its issuer (Other Authority)");
		if (wrong[i].whose == CERTS_OWN)
			check_refused(uri_of(server_port(s), "rediss", ""), LEASH_DENIED,
			              "signed certificate; name a cafile that has its issuer (own)");
		check_let_in(uri_of(server_port(s), "rediss", "verify=no"));
		server_stop(s);
	}
}

SENTENCE(a_right_certificate_is_refused_for_another_name)
{
	struct server *s = server_start_tls(CERTS_SERVER, false, NULL);
	const char *query;

	query = words("%s&server_name=other.example", certs_query());
	check_refused(uri_of(server_port(s), "rediss", query), LEASH_DENIED,
	              "ostname mismatch; subjectAltName must have DNS:other.example");
	query = words("%s&server_name=127.0.0.77", certs_query());
	check_refused(uri_of(server_port(s), "rediss", query), LEASH_DENIED, "IP address mismatch; subjectAltName must have IP:127.0.0.77");
	server_stop(s);
}

/* ---- who believes us ---- */

/* The name of a person may be that of a host. */
SENTENCE(a_common_name_is_nobodys_host)
{
	struct server *s = server_start_tls(CERTS_NAMELESS, false, NULL);
	const char *named = words("rediss://localhost:%d?%s", server_port(s), certs_query());

	check_failed(dial_to(named, "leash-test", NULL), LEASH_DENIED,
	             "subjectAltName must have DNS:localhost (a CN does not count)");
	check_refused(uri_of(server_port(s), "rediss", certs_query()), LEASH_DENIED,
	              "subjectAltName must have IP:127.0.0.1 (a CN does not count)");
	check_let_in(uri_of(server_port(s), "rediss", "verify=no"));
	server_stop(s);
}

SENTENCE(a_server_that_wants_a_certificate_gets_it_or_says_so)
{
	for (int old = 0; old < 2; old++) {
		struct server *s = server_start_tls(CERTS_SERVER, true, old ? (const char *const[]){"--tls-protocols", "TLSv1.2", NULL} : NULL);
		const char *query, *expected;

		query = words("%s&cert=%s&key=%s", certs_query(), certs_file(CERTS_CLIENT), certs_key(CERTS_CLIENT));
		check_let_in(uri_of(server_port(s), "rediss", query));
		check_refused(uri_of(server_port(s), "rediss", certs_query()), LEASH_DENIED, "the server wants a certificate of ours: name cert and key");
		query = words("%s&cert=%s&key=%s", certs_query(), certs_file(CERTS_FOREIGN_CLIENT), certs_key(CERTS_FOREIGN_CLIENT));
		expected = words("the server refused our certificate '%s': unknown CA", certs_file(CERTS_FOREIGN_CLIENT));
		check_refused(uri_of(server_port(s), "rediss", query), LEASH_DENIED, expected);
		server_stop(s);
	}
}

/* ---- files ---- */

static void
check_files(const char *query, const char *part)
{
	/* nobody need be there for it */
	check_refused(uri_of(1, "rediss", query), LEASH_INVALID, part);
}

SENTENCE(files_that_are_of_no_use_are_named_at_once)
{
	const char *query, *expected;

	check_files("cafile=/nowhere/ca.crt", "cafile '/nowhere/ca.crt' cannot be used: No such file or directory");
	check_files("cafile=/tmp", "cafile '/tmp' cannot be used: Is a directory");
	query = words("cafile=%s", certs_key(CERTS_AUTHORITY));
	check_files(query, "cannot be used: there is no certificate in it (PEM is wanted)");
	query = words("%s&cert=/nowhere/c.crt&key=%s", certs_query(), certs_key(CERTS_CLIENT));
	check_files(query, "cert '/nowhere/c.crt' cannot be used: No such file or directory");
	query = words("%s&cert=%s&key=/nowhere/c.key", certs_query(), certs_file(CERTS_CLIENT));
	check_files(query, "key '/nowhere/c.key' cannot be used: No such file or directory");
	query = words("%s&cert=%s&key=%s", certs_query(), certs_file(CERTS_CLIENT), certs_file(CERTS_CLIENT));
	check_files(query, "cannot be used: there is no private key in it (PEM is wanted)");
	query = words("%s&cert=%s&key=%s", certs_query(), certs_file(CERTS_CLIENT), certs_locked_key());
	check_files(query, "is under a passphrase, which nobody is here to be asked for");
	query = words("%s&cert=%s&key=%s", certs_query(), certs_file(CERTS_CLIENT), certs_key(CERTS_SERVER));
	expected = words("key '%s' does not belong to cert '%s'", certs_key(CERTS_SERVER), certs_file(CERTS_CLIENT));
	check_files(query, expected);
}

static void
copy_file(const char *from, const char *to)
{
	char bytes[8192], aside[256];
	FILE *in = fopen(from, "re"), *out;
	size_t n;

	snprintf(aside, sizeof aside, "%s.new", to);
	out = fopen(aside, "we");
	assert_non_null(in);
	assert_non_null(out);
	n = fread(bytes, 1, sizeof bytes, in);
	assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(rename(aside, to), 0);
}

/* Of authorities that are replaced while the program runs the connector knows at its next attempt. */
SENTENCE(files_that_were_replaced_are_read_again)
{
	struct server *s = server_start_tls(CERTS_SERVER, false, NULL);
	char path[256];
	const char *query;

	snprintf(path, sizeof path, "%s/ca.crt", server_folder(s));
	query = words("cafile=%s", path);
	copy_file(certs_file(CERTS_OTHER_AUTHORITY), path);
	open_dial(uri_of(server_port(s), "rediss", query), "leash-test", NULL);
	for (int i = 0; i < 3; i++) {
		check_failed(attempt(ample(), NULL, NULL), LEASH_DENIED, "the cafile does not have its issuer");
		copy_file(certs_file(CERTS_AUTHORITY), path);
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
		lsh_stream_discard(&hello.stream);
		copy_file(certs_file(CERTS_OTHER_AUTHORITY), path);
	}
	assert_int_equal(unlink(path), 0);
	check_failed(attempt(ample(), NULL, NULL), LEASH_INVALID, "No such file or directory");
	copy_file(certs_file(CERTS_AUTHORITY), path);
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
	lsh_stream_discard(&hello.stream);
	close_dial();
	server_stop(s);
}

enum { TAKERS = 8 };

static const struct lsh_tls_options *taken_for;
static pthread_barrier_t barrier;

static void *
take(void *out)
{
	leash_error trouble;

	pthread_barrier_wait(&barrier);
	*(struct lsh_tls_context **)out = lsh_tls_context_take(taken_for, &trouble);
	return NULL;
}

SENTENCE(what_files_say_is_shared_by_all_that_name_them)
{
	struct lsh_tls_options system = {.on = true}, other = {.on = true, .cafile = (char *)(uintptr_t)certs_file(CERTS_OTHER_AUTHORITY)};
	struct lsh_tls_options ours = {.on = true, .cafile = (char *)(uintptr_t)certs_file(CERTS_AUTHORITY)}, bad = {.on = true, .cafile = (char *)(uintptr_t)"/nowhere"};
	const struct lsh_tls_options *options[] = {&system, &ours, &bad};
	leash_error trouble;

	pthread_barrier_init(&barrier, NULL, TAKERS);
	for (int round = 0; round < 3; round++) {
		struct lsh_tls_context *context[TAKERS], *another = lsh_tls_context_take(&other, &trouble);
		pthread_t thread[TAKERS];

		taken_for = options[round];
		for (int i = 0; i < TAKERS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, take, &context[i]), 0);
		for (int i = 0; i < TAKERS; i++)
			pthread_join(thread[i], NULL);
		for (int i = 0; i < TAKERS; i++) {
			assert_ptr_equal(context[i], context[0]);
			assert_ptr_not_equal(context[i], another);
			lsh_tls_context_drop(context[i]);
		}
		assert_true((context[0] == NULL) == (taken_for == &bad));
		lsh_tls_context_drop(another);
	}
	pthread_barrier_destroy(&barrier);
}

/* ---- plain text ---- */

SENTENCE(a_server_that_does_not_speak_tls_is_told_apart_from_one_that_hangs)
{
	struct server *mute = server_start_tls(CERTS_SERVER, false, NULL);

	/* Redis takes the beginning of TLS for half a line, and says nothing */
	open_dial(uri_of(server_port(server), "rediss", certs_query()), "leash-test", NULL);
	check_failed(attempt(lsh_now_ns() + 4 * LSH_S, NULL, NULL), LEASH_PROTOCOL,
	             "the server does not speak TLS: write redis:// for it, or name its port for TLS");
	close_dial();

	server_pause(mute);
	open_dial(uri_of(server_port(mute), "rediss", certs_query()), "leash-test", NULL);
	check_failed(attempt(lsh_now_ns() + LSH_S / 4, NULL, NULL), LEASH_UNAVAILABLE, "no answer to the TLS handshake in time");
	close_dial();
	server_resume(mute);
	server_stop(mute);
}

SENTENCE(a_server_with_a_password_that_does_not_speak_tls_is_found_out_and_told_nothing)
{
	struct server *s = server_start_tcp((const char *const[]){"--requirepass", "open-sesame", NULL});
	const char *text;

	text = words("rediss://:open-sesame@127.0.0.1:%d?%s", server_port(s), certs_query());
	open_dial(text, "leash-test", NULL);
	check_failed(attempt(lsh_now_ns() + 4 * LSH_S, NULL, NULL), LEASH_PROTOCOL, "the server does not speak TLS");
	assert_null(strstr(err.text, "sesame"));
	close_dial();
	server_stop(s);
}

/* A connect to a puppet that says that; one with TLS is hung up on then. */
static void
check_puppet(bool tls, const char *says, bool at_once, leash_status status, const char *part)
{
	struct puppet f;

	puppet_start(&f, says);
	f.at_once = at_once;
	f.closes = tls;
	open_dial(tls ? words("rediss%s?%s", strchr(f.uri, ':'), certs_query()) : f.uri, "leash-test", NULL);
	check_failed(attempt(ample(), &f, NULL), status, part);
	close_dial();
	puppet_stop(&f);
}

SENTENCE(whatever_is_said_in_plain_text_is_no_tls)
{
	static const char *const said[] = {"+PONG\r\n", "-ERR max number of clients reached\r\n", "-DENIED Redis is running in protected mode\r\n",
	                                   "HTTP/1.1 400 Bad Request\r\n\r\n", "\n", "SSH-2.0-OpenSSH_9.2\r\n", "220 mail\r\n"};

	for (size_t i = 0; i < 2 * sizeof said / sizeof *said; i++)
		check_puppet(true, said[i / 2], i % 2 == 1, LEASH_PROTOCOL, "the server does not speak TLS: write redis:// for it");
}

SENTENCE(a_server_that_hangs_up_instead_of_speaking_tls_is_unavailable)
{
	check_puppet(true, "", false, LEASH_UNAVAILABLE, "the server closed the connection instead of speaking TLS");
}

SENTENCE(who_speaks_plainly_to_tls_is_told_to_write_rediss)
{
	struct server *s = server_start_tls(CERTS_SERVER, false, NULL);

	check_failed(dial_to(uri_of(server_port(s), "redis", ""), "leash-test", NULL), LEASH_UNAVAILABLE,
	             " (does it want TLS? then write rediss://)");
	server_stop(s);

	/* an alert, cut at its NUL: so does OpenSSL, were it asked to */
	check_puppet(false, "\x15\x03\x01", false, LEASH_PROTOCOL,
	             "the server speaks TLS: write rediss:// for it, or name its port without TLS");
}

SENTENCE(a_server_whose_tls_is_too_old_is_refused)
{
	struct server *s = server_start_tls(CERTS_SERVER, false, (const char *const[]){"--tls-protocols", "TLSv1.1", NULL});

	check_refused(uri_of(server_port(s), "rediss", certs_query()), LEASH_PROTOCOL, "the server does not speak TLS 1.2 or later");
	server_stop(s);
}

/* ---- the hello itself ---- */

SENTENCE(a_refused_password_is_told_through_tls)
{
	struct server *s = server_start_tls(CERTS_SERVER, false, (const char *const[]){"--requirepass", "open-sesame", NULL});
	const char *text;

	text = words("rediss://:wrong-word@127.0.0.1:%d?%s", server_port(s), certs_query());
	check_refused(text, LEASH_DENIED, "AUTH was refused: WRONGPASS");
	check_refused(uri_of(server_port(s), "rediss", certs_query()), LEASH_DENIED, "the server wants a password");
	text = words("rediss://:open-sesame@127.0.0.1:%d?%s", server_port(s), certs_query());
	check_let_in(text);
	server_stop(s);
}
