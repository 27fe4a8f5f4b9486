/* See certs.h. By libcrypto, so that it does not matter which openssl program there is. */
#include "tests/support/certs.h"

#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HERE "IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3,IP:127.0.0.4,IP:::1,DNS:localhost"

static const struct recipe {
	const char *name;      /* the subject */
	const char *names;     /* whom it is for; NULL: nobody in particular */
	const char *from, *to; /* UTC */
	enum certs_of by;
	bool authority;
} recipes[CERTS_COUNT] = {
	[CERTS_AUTHORITY] = { .name = "Test Authority", .by = CERTS_AUTHORITY, .authority = true },
	[CERTS_OTHER_AUTHORITY] = { .name = "Other Authority", .by = CERTS_OTHER_AUTHORITY, .authority = true },
	[CERTS_SERVER] = { .name = "server", .names = HERE, .by = CERTS_AUTHORITY },
	[CERTS_ELSEWHERE] = { .name = "elsewhere", .names = "DNS:other.example,DNS:www.other.example", .by = CERTS_AUTHORITY },
	[CERTS_EXPIRED] = { .name = "expired", .names = HERE, .from = "200101000000Z", .to = "200201000000Z", .by = CERTS_AUTHORITY },
	[CERTS_EARLY] = { .name = "early", .names = HERE, .from = "20900101000000Z", .to = "20910101000000Z", .by = CERTS_AUTHORITY },
	[CERTS_FOREIGN] = { .name = "foreign", .names = HERE, .by = CERTS_OTHER_AUTHORITY },
	[CERTS_OWN] = { .name = "own", .names = HERE, .by = CERTS_OWN },
	[CERTS_NAMELESS] = { .name = "localhost", .by = CERTS_AUTHORITY },
	[CERTS_CLIENT] = { .name = "client", .by = CERTS_AUTHORITY },
	[CERTS_FOREIGN_CLIENT] = { .name = "foreign client", .by = CERTS_OTHER_AUTHORITY },
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all of these */
static char *folder;
static struct made {
	EVP_PKEY *key;   /* NULL: not made yet */
	X509 *certificate;
	char *cert_path, *key_path;
} made[CERTS_COUNT];
static char *locked_path, *query;

static _Noreturn void
failed(const char *what)
{
	trouble("no certificate: %s: %s", what, ERR_reason_error_string(ERR_peek_last_error()));
}

static char *
path_of(const char *name, const char *end)
{
	if (!folder)
		folder = sweep_folder();
	char *path = text_of("%s/%s.%s", folder, name, end);
	for (char *c = path; *c; c++)
		if (*c == ' ')
			*c = '-';
	return path;
}

static FILE *
create(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		trouble("%s: %s", path, strerror(errno));
	return file;
}

static EVP_PKEY *
make_key(void)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
	EVP_PKEY *key = NULL;

	if (!context || EVP_PKEY_keygen_init(context) != 1 ||
	    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) != 1 || EVP_PKEY_keygen(context, &key) != 1)
		failed("key");
	EVP_PKEY_CTX_free(context);
	return key;
}

static void
add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, (char *)(uintptr_t)value);
	if (!extension || X509_add_ext(certificate, extension, -1) != 1)
		failed(value);
	X509_EXTENSION_free(extension);
}

static void
set_time(ASN1_TIME *time, const char *text, long days)
{
	if (text ? ASN1_TIME_set_string(time, text) != 1 : !X509_gmtime_adj(time, days * 86400))
		failed("time");
}

static X509 *
make_certificate(enum certs_of whose, const struct recipe *r)
{
	bool own = r->by == whose;
	X509 *certificate = X509_new(), *issuer = own ? certificate : made[r->by].certificate;
	X509_NAME *name = X509_NAME_new();

	if (!certificate || !name || X509_set_version(certificate, 2) != 1 ||
	    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1 + (long)whose) != 1 ||
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)r->name, -1, -1, 0) != 1 ||
	    X509_set_subject_name(certificate, name) != 1 || X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
	    X509_set_pubkey(certificate, made[whose].key) != 1)
		failed(r->name);
	X509_NAME_free(name);
	set_time(X509_getm_notBefore(certificate), r->from, -1);
	set_time(X509_getm_notAfter(certificate), r->to, 30);
	add_extension(certificate, issuer, NID_basic_constraints, r->authority ? "critical,CA:TRUE" : "CA:FALSE");
	add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
	if (!own)
		add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
	if (r->names)
		add_extension(certificate, issuer, NID_subject_alt_name, r->names);
	if (X509_sign(certificate, made[r->by].key, EVP_sha256()) == 0)
		failed("signature");
	return certificate;
}

/* mutex held */
static void
make(enum certs_of whose)
{
	const struct recipe *r = &recipes[whose];

	if (made[whose].key)
		return;
	if (r->by != whose)
		make(r->by);
	made[whose].key = make_key();
	made[whose].certificate = make_certificate(whose, r);
	made[whose].cert_path = path_of(r->name, "crt");
	made[whose].key_path = path_of(r->name, "key");
	FILE *cert = create(made[whose].cert_path);
	FILE *key = create(made[whose].key_path);
	if (PEM_write_X509(cert, made[whose].certificate) != 1 || PEM_write_PrivateKey(key, made[whose].key, NULL, NULL, 0, NULL, NULL) != 1)
		failed(r->name);
	if (fclose(cert) != 0 || fclose(key) != 0)
		trouble("%s: %s", folder, strerror(errno));
}

/* Its paths, made if need be. */
static const struct made *
get(enum certs_of whose)
{
	pthread_mutex_lock(&mutex);
	make(whose);
	pthread_mutex_unlock(&mutex);
	return &made[whose];
}

const char *
certs_file(enum certs_of whose)
{
	return get(whose)->cert_path;
}

const char *
certs_key(enum certs_of whose)
{
	return get(whose)->key_path;
}

const char *
certs_locked_key(void)
{
	EVP_PKEY *key = get(CERTS_CLIENT)->key;
	FILE *file;

	pthread_mutex_lock(&mutex);
	if (!locked_path) {
		locked_path = path_of("locked", "key");
		file = create(locked_path);
		if (PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), (const unsigned char *)"open sesame", 11, NULL, NULL) != 1)
			failed("locked key");
		fclose(file);
	}
	pthread_mutex_unlock(&mutex);
	return locked_path;
}

const char *const *
certs_server_args(enum certs_of whose, bool asks)
{
	static const char *args[CERTS_COUNT][2][9];
	const char **these = args[whose][asks];
	const char *const words[9] = { "--tls-cert-file", certs_file(whose), "--tls-key-file", certs_key(whose),
	                               "--tls-ca-cert-file", certs_file(CERTS_AUTHORITY), "--tls-auth-clients", asks ? "yes" : "no" };

	pthread_mutex_lock(&mutex);
	memcpy(these, words, sizeof words);
	pthread_mutex_unlock(&mutex);
	return these;
}

const char *
certs_query(void)
{
	const char *file = certs_file(CERTS_AUTHORITY);

	pthread_mutex_lock(&mutex);
	if (!query)
		query = text_of("cafile=%s", file);
	pthread_mutex_unlock(&mutex);
	return query;
}
