/* Why TLS does not take the server for the one that was meant, or the server us: in OpenSSL's words, with what was
 * expected, and told apart from a lack of memory or descriptors.
 *
 * A verdict belongs to one session, as OpenSSL's "app data" of it. Texts are what comes behind "rediss://host: ". */
#ifndef LSH_REDIS_TLS_VERIFY_H
#define LSH_REDIS_TLS_VERIFY_H

#include <leash/status.h>

#include <stdbool.h>

struct x509_store_ctx_st; /* OpenSSL's */

struct lsh_tls_verdict {
	char text[200];    /* what is wrong with the server's certificate; "": nothing */
	char expected[64]; /* the name or address that the certificate must be for */
	char cert[80];     /* what we show of ourselves; "": nothing */
	int short_of;      /* what there was too little of to check it, an errno; 0: of nothing */
	bool wanted;       /* and it was asked for all the same */
	bool cafile;       /* authorities were named */
};

/* Believe what OpenSSL believes, and note why it does not: for SSL_CTX_set_verify(). */
int lsh_tls_verify(int fine, struct x509_store_ctx_st *store);

/* What OpenSSL ran out of when a call failed, an errno; 0: of nothing. Before the call errno was 0, and `before` the
 * last error in the thread's queue. OpenSSL's last error seldom tells: a key that it has no memory to read it calls
 * weak, an authority that it has no descriptor to look for unknown. A queue that was empty is empty again. */
int lsh_tls_shortage(unsigned long before);

/* What a session failed with: `code` is OpenSSL's; errno and `before` as above. DENIED: it, or we, are not who the
 * other one wants; PROTOCOL; NO_MEMORY. */
void lsh_tls_explain(const struct lsh_tls_verdict *v, unsigned long before, unsigned long code, leash_error *err);

#endif
