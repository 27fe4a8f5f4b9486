/* OpenSSL's context is made once and never changed, so sessions of any thread may be made from it. */
#include "redis/tls_context.h"

#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/mutex.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the server's certificate ---- */

/* What was expected; "" where OpenSSL's words say it all. */
static void
write_expected(char *out, size_t size, const struct lsh_tls_verdict *v, X509 *certificate, int error)
{
	char name[64];

	out[0] = '\0';
	switch (error) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_CERT_UNTRUSTED:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* another authority of the same name */
		if (X509_NAME_get_text_by_NID(X509_get_issuer_name(certificate), NID_commonName, name, sizeof name) < 0)
			strcpy(name, "without a CN");
		snprintf(out, size, v->cafile ? "; the cafile does not have its issuer (%s)" :
			 "; name a cafile that has its issuer (%s)", name);
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		snprintf(out, size, "; subjectAltName must have %s:%s (a CN does not count), or the URI another "
			 "server_name", error == X509_V_ERR_IP_ADDRESS_MISMATCH ? "IP" : "DNS", v->expected);
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		snprintf(out, size, "; is the clock of this machine right?");
		break;
	default:
		break;
	}
}

/* Believe what OpenSSL believes, and note why it does not. */
static int
verify(int fine, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct lsh_tls_verdict *v = SSL_get_app_data(ssl);
	X509 *certificate = X509_STORE_CTX_get_current_cert(store);
	int error = X509_STORE_CTX_get_error(store), depth = X509_STORE_CTX_get_error_depth(store);
	char expected[sizeof v->text - 40]; /* the words in front of it have as much */

	if (fine)
		return 1;
	/* now: the alert that the server is sent sets errno to 0, and OpenSSL takes back its errors of what it had no
	 * memory to read */
	v->short_of = lsh_is_shortage(errno) ? errno : 0;
	if (certificate == NULL)
		certificate = X509_STORE_CTX_get0_cert(store);
	write_expected(expected, sizeof expected, v, certificate, error);
	snprintf(v->text, sizeof v->text, "its certificate%s is refused: %s%s", depth > 0 ? "'s authority" : "",
		 X509_verify_cert_error_string(error), expected);
	return 0;
}

/* ---- what went wrong ---- */

#define TOO_OLD "the server does not speak TLS 1.2 or later"

static void
explain_alert(const struct lsh_tls_verdict *v, int alert, leash_error *err)
{
	const char *words = SSL_alert_desc_string_long(alert);
	const bool of_ours = alert == SSL_AD_CERTIFICATE_REQUIRED || (alert >= SSL_AD_BAD_CERTIFICATE &&
	                     alert <= SSL_AD_ACCESS_DENIED && alert != SSL_AD_ILLEGAL_PARAMETER);
	/* some say "bad certificate" for none at all */
	const bool of_none = alert == SSL_AD_CERTIFICATE_REQUIRED || alert == SSL_AD_BAD_CERTIFICATE ||
	                     alert == SSL_AD_HANDSHAKE_FAILURE;

	if (v->wanted && of_none)
		lsh_fail(err, LEASH_DENIED, 0, "the server requires a certificate of ours: give cert and key");
	else if (of_ours)
		lsh_fail(err, LEASH_DENIED, 0, "the server refused our certificate '%s': %s", v->cert, words);
	else if (alert == SSL_AD_PROTOCOL_VERSION)
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, TOO_OLD);
	else
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "the server aborted TLS: %s", words);
}

static int
shortage_of(unsigned long code)
{
	if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
		return ENOMEM;
	return ERR_GET_LIB(code) == ERR_LIB_SYS && lsh_is_shortage(ERR_GET_REASON(code)) ? ERR_GET_REASON(code) : 0;
}

/* What OpenSSL ran out of when a call failed, an errno; 0: of nothing. Its last error seldom tells: it calls a key weak
 * that it has no memory to read, and an authority unknown that it has no descriptor to look for. A queue that was empty
 * is empty again. */
static int
shortage(unsigned long before)
{
	unsigned long code = ERR_peek_last_error();
	int e = errno;

	if (lsh_is_shortage(e)) /* as a rule of an allocation or an open(); OpenSSL takes some of its errors back */
		return e;
	e = code != before ? shortage_of(code) : 0;
	while (e == 0 && before == 0 && (code = ERR_get_error()) != 0)
		e = shortage_of(code);
	return e;
}

void
lsh_tls_explain(const struct lsh_tls_verdict *v, unsigned long before, unsigned long code, leash_error *err)
{
	int reason = ERR_GET_REASON(code), short_of = v->short_of != 0 ? v->short_of : shortage(before);
	int alert = ERR_GET_LIB(code) == ERR_LIB_SSL ? reason - SSL_AD_REASON_OFFSET : 0;
	const char *words = ERR_reason_error_string(code);

	if (short_of != 0)
		lsh_fail_short(err, short_of, "TLS");
	else if (v->text[0] != '\0')
		lsh_fail(err, LEASH_DENIED, 0, "%s", v->text);
	else if (alert > 0 && alert < 256)
		explain_alert(v, alert, err);
	else if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason == SSL_R_UNSUPPORTED_PROTOCOL)
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, TOO_OLD);
	else
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "TLS failed: %s", words != NULL ? words : "for an unknown reason");
}

/* ---- files ---- */

static const char *
system_file(void)
{
	const char *named = secure_getenv(X509_get_default_cert_file_env());

	return named != NULL ? named : X509_get_default_cert_file();
}

/* A file cannot be used: why. Not in OpenSSL's words, which differ from version to version and seldom name a cause. */
static bool
refuse(leash_error *err, const char *role, const char *file, const char *what)
{
	char text[LSH_ERRNO_TEXT];
	struct stat s;
	int fd = open(file, O_RDONLY | O_CLOEXEC), e = errno;

	if (fd >= 0) {
		e = fstat(fd, &s) == 0 && S_ISDIR(s.st_mode) ? EISDIR : 0;
		close(fd);
	}
	if (e != 0)
		lsh_fail(err, lsh_errno_status(e, LEASH_INVALID), e, "%s '%.120s' cannot be used: %s", role, file,
			 lsh_errno_text(e, text));
	else
		lsh_fail(err, LEASH_INVALID, 0, "%s '%.120s' cannot be used: there is no %s in it (PEM is expected)",
			 role, file, what);
	return false;
}

/* The system's folder, in which OpenSSL looks for an authority when it needs one, and its file. Neither need be there.
 * (Not SSL_CTX_set_default_verify_paths(): that does not tell for want of what the file was not read.) */
static bool
load_system(SSL_CTX *ctx)
{
	const char *file = system_file();

	if (access(file, F_OK) == 0)
		SSL_CTX_load_verify_locations(ctx, file, NULL);
	return SSL_CTX_set_default_verify_dir(ctx) == 1;
}

static bool
load_authorities(SSL_CTX *ctx, const struct lsh_tls_options *o, leash_error *err)
{
	if (o->cafile != NULL) {
		/* who is named is believed, be it no root */
		X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN);
		return SSL_CTX_load_verify_locations(ctx, o->cafile, NULL) == 1 ||
		       refuse(err, "cafile", o->cafile, "certificate");
	}
	if (o->unverified || load_system(ctx))
		return true;
	lsh_fail(err, LEASH_INVALID, 0, "the system's authorities cannot be read: name a file with the right one as "
		 "cafile");
	return false;
}

static int
note_passphrase(char *out, int size, int writing, void *asked)
{
	(void)out, (void)size, (void)writing;
	*(bool *)asked = true; /* here, and not at the terminal */
	return -1;
}

static EVP_PKEY *
read_key(const char *file, leash_error *err)
{
	BIO *in = BIO_new_file(file, "re");
	bool asked = false;
	EVP_PKEY *key = in != NULL ? PEM_read_bio_PrivateKey(in, NULL, note_passphrase, &asked) : NULL;

	BIO_free(in);
	if (key == NULL && asked)
		lsh_fail(err, LEASH_INVALID, 0, "key '%.120s' has a passphrase, and nobody can be asked for it: use a "
			 "key without one", file);
	else if (key == NULL)
		refuse(err, "key", file, "private key");
	return key;
}

/* Who we are for the server. */
static bool
load_ours(SSL_CTX *ctx, const struct lsh_tls_options *o, leash_error *err)
{
	EVP_PKEY *key;
	bool fits;

	if (o->cert == NULL)
		return true;
	if (SSL_CTX_use_certificate_chain_file(ctx, o->cert) != 1)
		return refuse(err, "cert", o->cert, "certificate");
	key = read_key(o->key, err);
	if (key == NULL)
		return false;
	fits = SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
	if (!fits)
		lsh_fail(err, LEASH_INVALID, 0, "key '%.80s' does not belong to cert '%.80s'", o->key, o->cert);
	EVP_PKEY_free(key); /* the context has it */
	return fits;
}

static int
note_wanted(SSL *ssl, X509 **certificate, EVP_PKEY **key)
{
	struct lsh_tls_verdict *v = SSL_get_app_data(ssl);

	(void)certificate, (void)key;
	v->wanted = true;
	return 0;
}

static SSL_CTX *
make_context(const struct lsh_tls_options *o, leash_error *err)
{
	/* no atexit: our threads may be in it to the last moment */
	SSL_CTX *ctx = OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1 ? SSL_CTX_new(TLS_client_method()) : NULL;

	if (ctx == NULL || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ctx);
		lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "TLS cannot be set up");
		return NULL;
	}
	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_client_cert_cb(ctx, note_wanted);
	SSL_CTX_set_verify(ctx, o->unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, o->unverified ? NULL : verify);
	if (load_authorities(ctx, o, err) && load_ours(ctx, o, err))
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

/* ---- what is shared ---- */

struct lsh_tls_context {
	struct lsh_list link;
	unsigned users;
	bool in_the_making; /* by another thread: it will be there, or not, when `made` is told */
	SSL_CTX *ctx;
	unsigned char id[crypto_generichash_BYTES];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list, and its users and in_the_making */
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static struct lsh_list contexts;

/* What the parent's threads have, or were making, is not the child's. */
LSH_GUARD_FORK(&mutex, (lsh_list_init(&contexts), pthread_cond_init(&made, NULL)))

static void
set_up(void)
{
	lsh_list_init(&contexts);
	guard_fork(); /* without memory for that children may wait in vain */
}

/* Which files they are, and in which state. */
static void
identify(unsigned char id[static crypto_generichash_BYTES], const struct lsh_tls_options *o)
{
	const char *files[] = {o->cafile == NULL && !o->unverified ? system_file() : o->cafile, o->cert, o->key};
	crypto_generichash_state hash;

	crypto_generichash_init(&hash, NULL, 0, crypto_generichash_BYTES);
	crypto_generichash_update(&hash, (const unsigned char *)&o->unverified, sizeof o->unverified);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *file = files[i] != NULL ? files[i] : "";
		struct stat s = {.st_size = 0};
		bool there = stat(file, &s) == 0;
		const int64_t state[] = {there, (int64_t)s.st_dev, (int64_t)s.st_ino, s.st_size, s.st_mtim.tv_sec,
		                         s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec};

		crypto_generichash_update(&hash, (const unsigned char *)file, strlen(file) + 1);
		crypto_generichash_update(&hash, (const unsigned char *)state, sizeof state);
	}
	crypto_generichash_final(&hash, id, crypto_generichash_BYTES);
}

/* mutex held */
static struct lsh_tls_context *
find(const unsigned char id[static crypto_generichash_BYTES])
{
	for (struct lsh_list *link = contexts.next; link != &contexts; link = link->next) {
		struct lsh_tls_context *c = lsh_container(link, struct lsh_tls_context, link);

		if (memcmp(c->id, id, sizeof c->id) == 0)
			return c;
	}
	return NULL;
}

/* Read the files. */
static void
fill(struct lsh_tls_context *c, const struct lsh_tls_options *options, leash_error *err)
{
	unsigned long before = ERR_peek_last_error();
	int short_of = 0;

	ERR_set_mark();
	errno = 0;
	c->ctx = make_context(options, err);
	/* also where something was read: authorities for which there was no descriptor would be unknown until their file
	 * changes */
	if (c->ctx == NULL || ERR_peek_last_error() != before)
		short_of = shortage(before);
	ERR_pop_to_mark();
	if (short_of != 0) {
		lsh_fail_short(err, short_of, "TLS");
		SSL_CTX_free(c->ctx);
		c->ctx = NULL;
	}
}

struct lsh_tls_context *
lsh_tls_context_take(const struct lsh_tls_options *options, leash_error *err)
{
	unsigned char id[crypto_generichash_BYTES];
	struct lsh_tls_context *c, *found;

	identify(id, options);
	pthread_once(&once, set_up);
	pthread_mutex_lock(&mutex);
	while ((found = find(id)) != NULL && found->in_the_making)
		pthread_cond_wait(&made, &mutex);
	c = found != NULL ? found : lsh_new(struct lsh_tls_context);
	if (c != NULL && c->users++ == 0) {
		memcpy(c->id, id, sizeof id);
		c->in_the_making = true;
		lsh_list_append(&contexts, &c->link);
	}
	pthread_mutex_unlock(&mutex);
	if (c == NULL)
		lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for TLS");
	if (c == found)
		return c;

	fill(c, options, err);
	pthread_mutex_lock(&mutex);
	c->in_the_making = false;
	if (c->ctx == NULL)
		lsh_list_remove(&c->link);
	pthread_cond_broadcast(&made);
	pthread_mutex_unlock(&mutex);
	if (c->ctx != NULL)
		return c;
	lsh_free(c);
	return NULL;
}

void
lsh_tls_context_drop(struct lsh_tls_context *c)
{
	bool last;

	if (c == NULL)
		return;
	pthread_mutex_lock(&mutex);
	last = --c->users == 0;
	if (last)
		lsh_list_remove(&c->link);
	pthread_mutex_unlock(&mutex);
	if (!last)
		return;
	SSL_CTX_free(c->ctx);
	lsh_free(c);
}

/* ---- sessions ---- */

/* Who it must be, and, of a name, who we say that we look for. */
static bool
expect(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	struct in6_addr address;
	char name[256]; /* no name is longer */
	size_t n;

	/* an address of this link alone has its interface behind the '%' */
	snprintf(name, sizeof name, "%.*s", (int)strcspn(host, "%"), host);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
	n = strlen(name);
	if (n > 1 && name[n - 1] == '.')
		name[n - 1] = '\0'; /* certificates have no dot there */
	return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

SSL *
lsh_tls_context_session(struct lsh_tls_context *c, const struct lsh_tls_options *options, const char *host,
                        struct lsh_tls_verdict *v)
{
	const char *name = options->server_name != NULL ? options->server_name : host;
	SSL *ssl;

	*v = (struct lsh_tls_verdict){.cafile = options->cafile != NULL};
	snprintf(v->expected, sizeof v->expected, "%s", name);
	snprintf(v->cert, sizeof v->cert, "%s", options->cert != NULL ? options->cert : "");
	ERR_set_mark();
	ssl = SSL_new(c->ctx);
	if (ssl != NULL && (!SSL_set_app_data(ssl, v) || !expect(ssl, name))) {
		SSL_free(ssl);
		ssl = NULL;
	}
	ERR_pop_to_mark();
	return ssl;
}
