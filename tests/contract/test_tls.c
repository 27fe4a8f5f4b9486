/* Where TLS makes a difference to who locks: what a set-user-ID program believes. Which certificates are refused, and
 * with what words, is said by redis/test_tls; what becomes of who holds and waits then, by core/test_refusals; the laws
 * are tested there by test_laws. */
#include "tests/contract/interface.h"

#include <sys/auxv.h>
#include <unistd.h>

static const uid_t NOBODY = 65534;
static const char FOR_NOBODY[] = "for-nobody";

/* What an exec with another real user makes of a program is what a set-user-ID file makes of it: AT_SECURE. As root only. */
static int
exec_for_nobody(void *uri)
{
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* looks by ptrace, which this process does not permit */
	if (setresuid(NOBODY, 0, 0) == 0)
		execl("/proc/self/exe", "test_tls", FOR_NOBODY, uri, NULL);
	perror("exec");
	return 1;
}

/* In that process: `uri` is of a server that believes in what SSL_CERT_FILE says. */
static int
look_for_nobody(const char *uri)
{
	leash_client *client = NULL;

	assert_int_not_equal(getauxval(AT_SECURE), 0);
	assert_string_equal(getenv("LEASH_URI"), "nonsense"); /* it is there for all to read */
	if (leash_open(&client, NULL, &err) == LEASH_INVALID)
		fail_msg("LEASH_URI was read: %s", err.text);
	leash_close(client);
	assert_refused(LEASH_INVALID, "password_env: the variable 'LEASH_URI' is not read by a set-user-ID program; use a file",
	               leash_open(&client, LEASH_OPTIONS(.uri = "unix:///nowhere?password_env=LEASH_URI"), &err));
	assert_refused(LEASH_DENIED, "name a cafile that has its issuer (Test Authority)",
	               leash_open(&client, LEASH_OPTIONS(.uri = uri), &err));
	return 0;
}

SENTENCE(a_set_user_id_program_takes_neither_a_server_nor_a_password_nor_an_authority_from_its_environment)
{
	leash_client *client;
	char uri[64];

	if (geteuid() != 0) {
		print_message("only root can start a program as another user\n");
		skip();
	}
	struct server *s = kept(server_start_tls(CERTS_SERVER, false, NULL));
	snprintf(uri, sizeof uri, "rediss://127.0.0.1:%d?timeout=10000", server_port(s));
	setenv("LEASH_URI", "nonsense", 1);
	setenv("SSL_CERT_FILE", certs_file(CERTS_AUTHORITY), 1);
	assert_status(LEASH_OK, leash_open(&client, LEASH_OPTIONS(.uri = uri), &err)); /* any other program does */
	leash_close(client);
	assert_status(LEASH_INVALID, leash_open(&client, NULL, &err));
	child_wait(child_run(exec_for_nobody, uri));
	unsetenv("LEASH_URI");
	unsetenv("SSL_CERT_FILE");
}

static int
be_nobody(int argc, char **argv)
{
	return argc == 3 && strcmp(argv[1], FOR_NOBODY) == 0 ? look_for_nobody(argv[2]) : GO_ON;
}

PRELUDE(be_nobody);
