/* See tls_verify.h. */
#include "redis/tls_verify.h"

#include "base/error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int
lsh_tls_verify(int fine, struct x509_store_ctx_st *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct lsh_tls_verdict *v = SSL_get_app_data(ssl);
	X509 *certificate = X509_STORE_CTX_get_current_cert(store);
	int error = X509_STORE_CTX_get_error(store), depth = X509_STORE_CTX_get_error_depth(store);
	char expected[sizeof v->text];

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
		lsh_fail(err, LEASH_DENIED, 0, "the server wants a certificate of ours: name cert and key");
	else if (of_ours)
		lsh_fail(err, LEASH_DENIED, 0, "the server refused our certificate '%s': %s", v->cert, words);
	else if (alert == SSL_AD_PROTOCOL_VERSION)
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, TOO_OLD);
	else
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "the server gave TLS up: %s", words);
}

static int
shortage_of(unsigned long code)
{
	if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
		return ENOMEM;
	return ERR_GET_LIB(code) == ERR_LIB_SYS && lsh_is_shortage(ERR_GET_REASON(code)) ? ERR_GET_REASON(code) : 0;
}

int
lsh_tls_shortage(unsigned long before)
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
	int reason = ERR_GET_REASON(code), short_of = v->short_of != 0 ? v->short_of : lsh_tls_shortage(before);
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
