#include "redis/doubt.h"

#include "base/error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_SHOWN = 64 }; /* bytes */

/* ---- words ---- */

static void
doubt(struct lsh_doubt *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
doubt(struct lsh_doubt *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->text, sizeof d->text, format, args);
	va_end(args);
}

/* A list with commas, cut at what does not fit. */
static void
add_name(char list[static NAMES_SHOWN], const char *name, size_t size)
{
	size_t used = strlen(list);

	if (used > 0 && list[used - 1] == '.')
		return; /* cut already */
	if (used + size + sizeof ", , ..." > NAMES_SHOWN)
		snprintf(list + used, NAMES_SHOWN - used, "%s...", used > 0 ? ", " : "");
	else
		snprintf(list + used, NAMES_SHOWN - used, "%s%.*s", used > 0 ? ", " : "", (int)size, name);
}

static void
add_entry(char list[static NAMES_SHOWN], const X509_NAME *subject, int nid)
{
	int at = X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)subject, nid, -1); /* not const before OpenSSL 3 */
	const ASN1_STRING *text = at >= 0 ? X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)) : NULL;

	if (text != NULL)
		add_name(list, (const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
}

static void
add_address(char list[static NAMES_SHOWN], const ASN1_OCTET_STRING *address)
{
	char text[INET6_ADDRSTRLEN];
	int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;

	if ((family == AF_INET || ASN1_STRING_length(address) == 16) &&
	    inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof text) != NULL)
		add_name(list, text, strlen(text));
}

/* For whom a certificate is; "": for nobody. */
static void
list_names(X509 *certificate, char list[static NAMES_SHOWN])
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	int count = names != NULL ? sk_GENERAL_NAME_num(names) : 0;

	list[0] = '\0';
	for (int i = 0; i < count; i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

		if (name->type == GEN_DNS)
			add_name(list, (const char *)ASN1_STRING_get0_data(name->d.dNSName), (size_t)ASN1_STRING_length(name->d.dNSName));
		else if (name->type == GEN_IPADD)
			add_address(list, name->d.iPAddress);
	}
	GENERAL_NAMES_free(names);
}

/* What an authority is called. */
static void
name_authority(const X509_NAME *name, char text[static NAMES_SHOWN])
{
	text[0] = '\0';
	add_entry(text, name, NID_commonName);
	if (text[0] == '\0')
		add_entry(text, name, NID_organizationName);
	if (text[0] == '\0')
		add_name(text, "without a name", strlen("without a name"));
}

static void
show_day(const ASN1_TIME *time, char day[static 32])
{
	struct tm tm;

	if (time == NULL || ASN1_TIME_to_tm(time, &tm) != 1 || strftime(day, 32, "%Y-%m-%d %H:%M UTC", &tm) == 0)
		strcpy(day, "an unknown time");
}

/* ---- the server's certificate ---- */

static void
doubt_times(struct lsh_doubt *d, X509 *certificate, int depth, bool expired)
{
	char day[32], name[NAMES_SHOWN] = "", whose[NAMES_SHOWN + 40] = "its certificate";

	show_day(expired ? X509_get0_notAfter(certificate) : X509_get0_notBefore(certificate), day);
	if (depth > 0) {
		name_authority(X509_get_subject_name(certificate), name);
		snprintf(whose, sizeof whose, "the certificate of its authority (%s)", name);
	}
	if (expired)
		doubt(d, "%s expired on %s: it has to be renewed", whose, day);
	else
		doubt(d, "%s is not valid before %s: is the clock of this machine right?", whose, day);
}

static void
doubt_authority(struct lsh_doubt *d, X509 *certificate, int depth, int error)
{
	char name[NAMES_SHOWN];
	bool own = error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT && depth == 0;

	name_authority(own ? X509_get_subject_name(certificate) : X509_get_issuer_name(certificate), name);
	if (d->cafile)
		doubt(d, "its certificate is signed by %s (%s), which the cafile does not have", own ? "itself" : "an authority", name);
	else if (own)
		doubt(d, "its certificate is signed by itself (%s): name a file with it as cafile", name);
	else
		doubt(d, "its certificate is signed by an authority that is not known here (%s): name a file with it as cafile", name);
}

int
lsh_doubt_verify(int fine, struct x509_store_ctx_st *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct lsh_doubt *d = SSL_get_app_data(ssl);
	X509 *certificate = X509_STORE_CTX_get_current_cert(store);
	int depth = X509_STORE_CTX_get_error_depth(store), error = X509_STORE_CTX_get_error(store);
	char names[NAMES_SHOWN];

	if (fine)
		return 1;
	/* now: the alert that the server is sent sets errno to 0, and of what it had no memory to read OpenSSL takes its errors back */
	d->short_of = lsh_is_shortage(errno) ? errno : 0;
	if (certificate == NULL)
		certificate = X509_STORE_CTX_get0_cert(store);
	switch (error) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_CERT_UNTRUSTED:
		doubt_authority(d, certificate, depth, error);
		break;
	case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* another authority of the same name */
		doubt_authority(d, certificate, depth, error);
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		list_names(certificate, names);
		if (names[0] == '\0')
			doubt(d, "its certificate names no host (a CN does not count): have it issued anew with subjectAltName=%s:%.40s",
			      error == X509_V_ERR_IP_ADDRESS_MISMATCH ? "IP" : "DNS", d->expected);
		else
			doubt(d, "its certificate is for %s, not for %.40s: write that in the URI, or as server_name", names, d->expected);
		break;
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		doubt_times(d, certificate, depth, error == X509_V_ERR_CERT_HAS_EXPIRED);
		break;
	default:
		doubt(d, "its certificate is not accepted: %s", X509_verify_cert_error_string(error));
		break;
	}
	return 0;
}

/* ---- what went wrong ---- */

static bool
is_of_alert(int reason)
{
	return reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256;
}

/* The server ended it with an alert, for a reason that is ours to mend. */
static bool
explain_alert(const struct lsh_doubt *d, int alert, leash_error *err)
{
	const char *what = SSL_alert_desc_string_long(alert);

	switch (alert) {
	case SSL_AD_HANDSHAKE_FAILURE:
	case SSL_AD_BAD_CERTIFICATE: /* so say some for none at all */
	case SSL_AD_CERTIFICATE_REQUIRED:
		if (d->wanted) {
			lsh_fail(err, LEASH_DENIED, 0, "the server wants a certificate of ours: name cert and key");
			return true;
		}
		if (alert == SSL_AD_HANDSHAKE_FAILURE)
			return false;
		break;
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_EXPIRED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_UNKNOWN_CA:
	case SSL_AD_ACCESS_DENIED:
		break;
	default:
		return false;
	}
	lsh_fail(err, LEASH_DENIED, 0, "the server refused our certificate '%s': %s", d->cert, what);
	return true;
}

static int
shortage_of(unsigned long code)
{
	if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
		return ENOMEM;
	return ERR_GET_LIB(code) == ERR_LIB_SYS && lsh_is_shortage(ERR_GET_REASON(code)) ? ERR_GET_REASON(code) : 0;
}

int
lsh_doubt_shortage(unsigned long before)
{
	unsigned long code = ERR_peek_last_error();
	int e = errno;

	if (lsh_is_shortage(e))
		return e; /* that of an allocation or an open() which failed, as a rule; and of some it takes its errors back */
	e = code != before ? shortage_of(code) : 0;
	while (e == 0 && before == 0 && (code = ERR_get_error()) != 0)
		e = shortage_of(code);
	return e;
}

void
lsh_doubt_explain(const struct lsh_doubt *d, unsigned long before, unsigned long code, leash_error *err)
{
	int reason = ERR_GET_REASON(code), short_of = d->short_of != 0 ? d->short_of : lsh_doubt_shortage(before);
	const char *words = ERR_reason_error_string(code);

	if (short_of != 0)
		lsh_fail_short(err, short_of, "TLS");
	else if (d->text[0] != '\0')
		lsh_fail(err, LEASH_DENIED, 0, "%s", d->text);
	else if (ERR_GET_LIB(code) != ERR_LIB_SSL)
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "TLS failed: %s", words != NULL ? words : "for an unknown reason");
	else if (is_of_alert(reason) && explain_alert(d, reason - SSL_AD_REASON_OFFSET, err))
		return;
	else if (reason == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION || reason == SSL_R_UNSUPPORTED_PROTOCOL)
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "the server does not speak TLS 1.2 or later");
	else if (is_of_alert(reason))
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "the server gave TLS up: %s", SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
	else
		lsh_fail(err, LEASH_PROTOCOL, EPROTO, "what the server says is not TLS as it should be: %s", words != NULL ? words : "?");
}
