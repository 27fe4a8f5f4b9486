/* TLS as a connector meets it: who is let in, who is not, and with which words; never is anything said in plain text
 * instead.
 *
 *     serve_tls WHOSE [asks] [ARGUMENTS]   a server at $s with a certificate of certs.h; asks: it wants one, too
 *     file WHOSE, key WHOSE                of these a file's path; key locked: under a passphrase
 *     connect URI                          both connections that a client makes; what they came to is the same
 *     put FROM TO, remove FILE             in one go, as a link; $f is the folder of the server
 *
 * $c is what a URI says for the authority of all but a few of them. */
#include "tests/redis/connects.h"

#include "redis/tls_context.h"
#include "tests/support/certs.h"
#include "tests/support/descriptors.h"

#include <pthread.h>
#include <unistd.h>

GROUP(start_tcp_server, stop_server);

static void
begin(void)
{
	begin_connects();
	let('c', certs_query());
}

FIXTURE(begin, end_connects);

static enum certs_of
whose(const char *name)
{
	static const char *const names[CERTS_COUNT] = {
		"authority", "other_authority", "server", "elsewhere", "expired", "early", "foreign", "own", "nameless",
		"client", "foreign_client",
	};

	return (enum certs_of)place_of(name, names, CERTS_COUNT);
}

DEED(serve_tls)
{
	bool asks = strcmp(word[2], "asks") == 0;

	let('f', server_folder(serve(server_start_tls(whose(word[1]), asks, arguments_of(word + 2 + asks)))));
}

SEES(file, certs_file(whose(word[1])))
SEES(key, strcmp(word[1], "locked") == 0 ? certs_locked_key() : certs_key(whose(word[1])))

VERB(connect)
{
	const char *is[2];
	unsigned fds = 0;

	for (int i = 0; i < 2; i++) {
		close_dial();
		fds = descriptors_count();
		open_dial(word[1], "leash-test", i == 0 ? NULL : "channel");
		enum lsh_progress progress = attempt(ample());
		is[i] = seen_progress(progress);
		assert_int_equal(hello.stream.tls != NULL, progress == LSH_DONE);
		assert_true(progress != LSH_DONE || hello.version != 0);
		close_dial();
		await_true(descriptors_count() <= fds); /* the thread that looks a name up closes its own when it ends */
	}
	assert_string_equal(is[0], is[1]);
	assert_true(strcmp(is[0], "OK") == 0 || strstr(is[0], "127.0.0.1:") != NULL || strstr(is[0], "localhost:") != NULL);
	return is[0];
}

/* ---- whom we believe ---- */

SENTENCE(a_server_is_believed_whose_certificate_is_for_it)
{
	play("serve_tls server; each u 127.0.0.1:$s?$c 127.0.0.1:$s?$c&server_name=localhost localhost:$s?$c"
	     "  127.0.0.1:$s?verify=no; connect rediss://$u = OK");
	/* the system's authorities, as OpenSSL lets them be named */
	assert_int_equal(setenv("SSL_CERT_FILE", certs_file(CERTS_AUTHORITY), 1), 0);
	play("connect rediss://127.0.0.1:$s = OK");
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

SCENE(a_certificate_that_is_named_itself_is_believed,
      "serve_tls own; let o file own; connect rediss://127.0.0.1:$s?cafile=$o = OK;"
      "serve_tls foreign; let o file foreign; connect rediss://127.0.0.1:$s?cafile=$o = OK")

SCENE(a_certificate_that_is_not_to_be_believed_is_refused_with_its_own_words,
      "each we foreign 'its certificate is refused: unable to get local issuer certificate; the cafile does not have "
      "its issuer (Other Authority)'"
      "  own 'signed certificate; the cafile does not have its issuer (own)'" /* with '-' or ' ' before it */
      "  elsewhere 'its certificate is refused: IP address mismatch; subjectAltName must have IP:127.0.0.1 "
      "(a CN does not count), or the URI another server_name'"
      "  expired 'its certificate is refused: certificate has expired'"
      "  early 'its certificate is refused: certificate is not yet valid; is the clock of this machine right?';"
      "serve_tls $w; connect rediss://127.0.0.1:$s?$c ~ DENIED: '$e'; connect rediss://127.0.0.1:$s?verify=no = OK")
SCENE(without_a_cafile_one_is_asked_for, "serve_tls foreign; connect rediss://127.0.0.1:$s ~ DENIED: "
      "'local issuer certificate; name a cafile that has its issuer (Other Authority)'; serve_tls own;"
      "connect rediss://127.0.0.1:$s ~ DENIED: 'signed certificate; name a cafile that has its issuer (own)'")
SCENE(a_right_certificate_is_refused_for_another_name,
      "serve_tls server; connect rediss://127.0.0.1:$s?$c&server_name=other.example ~ DENIED:"
      " 'ostname mismatch; subjectAltName must have DNS:other.example';"
      "connect rediss://127.0.0.1:$s?$c&server_name=127.0.0.77 ~ DENIED:"
      " 'IP address mismatch; subjectAltName must have IP:127.0.0.77'")
SCENE(a_common_name_is_nobodys_host, /* the name of a person may be that of a host */
      "serve_tls nameless;"
      "connect rediss://localhost:$s?$c ~ DENIED: 'subjectAltName must have DNS:localhost (a CN does not count)';"
      "connect rediss://127.0.0.1:$s?$c ~ DENIED: 'subjectAltName must have IP:127.0.0.1 (a CN does not count)';"
      "connect rediss://127.0.0.1:$s?verify=no = OK")

/* ---- who believes us ---- */

SCENE(a_server_that_wants_a_certificate_gets_it_or_says_so, /* and an older one */
      "each p 'TLSv1.2 TLSv1.3' TLSv1.2; serve_tls server asks --tls-protocols '$p'; let x file client;"
      "let y key client; connect rediss://127.0.0.1:$s?$c&cert=$x&key=$y = OK;"
      "connect rediss://127.0.0.1:$s?$c ~ DENIED: 'the server requires a certificate of ours: give cert and key';"
      "let x file foreign_client; let y key foreign_client; connect rediss://127.0.0.1:$s?$c&cert=$x&key=$y ~ DENIED:"
      " \"the server refused our certificate '$x': unknown CA\"")

/* ---- files ---- */

SCENE(files_that_are_of_no_use_are_named_at_once, /* nobody need be there for it */
      "let a key authority; let k key server; let l key locked; let x file client; let y key client;"
      "each ue cafile=/nowhere/ca.crt \"cafile '/nowhere/ca.crt' cannot be used: No such file or directory\""
      "  cafile=/tmp \"cafile '/tmp' cannot be used: Is a directory\""
      "  cafile=$a 'cannot be used: there is no certificate in it (PEM is expected)'"
      "  $c&cert=/nowhere/c.crt&key=$y \"cert '/nowhere/c.crt' cannot be used: No such file or directory\""
      "  $c&cert=$x&key=/nowhere/c.key \"key '/nowhere/c.key' cannot be used: No such file or directory\""
      "  $c&cert=$x&key=$x 'cannot be used: there is no private key in it (PEM is expected)'"
      "  $c&cert=$x&key=$l 'has a passphrase, and nobody can be asked for it'"
      "  $c&cert=$x&key=$k \"key '$k' does not belong to cert '$x'\";"
      "connect rediss://127.0.0.1:1?$u ~ INVALID: \"$e\"")

DEED(put)
{
	const char *aside = seen("%s.new", word[2]);

	assert_int_equal(symlink(word[1], aside), 0);
	assert_int_equal(rename(aside, word[2]), 0);
}

DOES(remove, assert_int_equal(unlink(word[1]), 0))

/* Of authorities that are replaced while the program runs the connector knows at its next attempt. */
SCENE(files_that_were_replaced_are_read_again, "serve_tls server; let a file authority; let o file other_authority;"
      "put $o $f/ca.crt; dial rediss://127.0.0.1:$s?cafile=$f/ca.crt; repeat 3;"
      "attempt ~ DENIED: 'the cafile does not have its issuer'; put $a $f/ca.crt; attempt = OK; put $o $f/ca.crt; next;"
      "remove $f/ca.crt; attempt ~ INVALID: 'No such file or directory'; put $a $f/ca.crt; attempt = OK")

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
	struct lsh_tls_options system = {.on = true}, bad = {.on = true, .cafile = (char *)(uintptr_t)"/nowhere"};
	struct lsh_tls_options other = {.on = true, .cafile = (char *)(uintptr_t)certs_file(CERTS_OTHER_AUTHORITY)};
	struct lsh_tls_options ours = {.on = true, .cafile = (char *)(uintptr_t)certs_file(CERTS_AUTHORITY)};
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

/* Redis takes the beginning of TLS for half a line, and says nothing. */
SCENE(a_server_that_does_not_speak_tls_is_found_out_and_told_no_password, "dial rediss://127.0.0.1:$s?$c;"
      "attempt 4000 ~ PROTOCOL: 'the server does not speak TLS: write redis:// for it, or name its port for TLS';"
      "serve --requirepass open-sesame; dial rediss://:open-sesame@127.0.0.1:$s?$c;"
      "attempt 4000 ~ PROTOCOL: 'does not speak TLS' !~ sesame")

SENTENCE(a_server_that_hangs_is_told_apart_from_one_that_does_not_speak_tls)
{
	struct server *mute = serve(server_start_tls(CERTS_SERVER, false, NULL));

	server_pause(mute);
	play("dial rediss://127.0.0.1:$s?$c; attempt 250 ~ UNAVAILABLE: 'no answer to the TLS handshake in time'");
	server_resume(mute);
}

SCENE(whatever_is_said_in_plain_text_is_no_tls,
      "each x +PONG\r\n '-ERR max number of clients reached\r\n' '-DENIED Redis is running in protected mode\r\n'"
      "  'HTTP/1.1 400 Bad Request\r\n\r\n' \n SSH-2.0-OpenSSH_9.2\r\n '220 mail\r\n'; each m '' at_once;"
      "puppet p '$x'; manner p closes $m;"
      "try rediss://127.0.0.1:$p?$c ~ PROTOCOL: 'the server does not speak TLS: write redis:// for it'; next")
SCENE(a_server_that_hangs_up_instead_of_speaking_tls_is_unavailable, "puppet p; manner p closes;"
      "try rediss://127.0.0.1:$p?$c ~ UNAVAILABLE: 'the server closed the connection instead of speaking TLS'")
SCENE(who_speaks_plainly_to_tls_is_told_to_write_rediss,
      "serve_tls server; try redis://127.0.0.1:$s ~ UNAVAILABLE: ' (does it want TLS? then write rediss://)';"
      /* an alert, cut at its NUL: so does OpenSSL, were it asked to */
      "puppet p \x15\x03\x01; try redis://127.0.0.1:$p ~ PROTOCOL:"
      " 'the server speaks TLS: write rediss:// for it, or name its port without TLS'")
SCENE(a_server_whose_tls_is_too_old_is_refused, "serve_tls server --tls-protocols TLSv1.1;"
      "connect rediss://127.0.0.1:$s?$c ~ PROTOCOL: 'the server does not speak TLS 1.2 or later'")

SCENE(a_refused_password_is_told_through_tls, "serve_tls server --requirepass open-sesame;"
      "connect rediss://:wrong-word@127.0.0.1:$s?$c ~ DENIED: 'AUTH was refused: WRONGPASS';"
      "connect rediss://127.0.0.1:$s?$c ~ DENIED: 'the server wants a password';"
      "connect rediss://:open-sesame@127.0.0.1:$s?$c = OK")
