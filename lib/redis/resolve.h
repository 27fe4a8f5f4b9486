/* Addresses of a server, and the question to the resolver that yields them.
 *
 * getaddrinfo() can neither be bounded nor canceled, so a thread of its own asks, and whoever wants the answer polls a
 * descriptor. Giving up is instant: the request is shared, and the thread frees it when it ends at last. */
#ifndef LSH_REDIS_RESOLVE_H
#define LSH_REDIS_RESOLVE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	LSH_ADDRESSES = 16, /* of a name; more are not tried */
	LSH_ADDRESS_TEXT = 64,
};

struct lsh_address {
	socklen_t size; /* 0: none */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un path;
	};
};

/* The address of a unix socket, whose path begins with a '/', or of a host whose name is a numeric address. False: it
 * is neither, and has to be resolved. */
bool lsh_address_of(struct lsh_address *out, const char *host, uint16_t port);

bool lsh_address_is(const struct lsh_address *a, const struct lsh_address *b);

/* The numeric address for a message, without the port; of a unix socket "". */
void lsh_address_show(const struct lsh_address *address, char text[static LSH_ADDRESS_TEXT]);

struct lsh_answer {
	int error;      /* 0, or one of EAI_* */
	int sys_errno;  /* of EAI_SYSTEM, or what there was no more of; else 0 */
	unsigned count;
	struct lsh_address address[LSH_ADDRESSES]; /* in the order of preference that the system says */
};

struct lsh_request {
	atomic_uint users;
	atomic_bool answered;
	int fd; /* eventfd; readable when it is answered, and not to be read; stays open until both are done */
	uint16_t port;
	struct lsh_answer answer; /* once it is there */
	char host[];
};

/* Ask. Copies `host`. NULL: `*sys_errno` says what was lacking: memory, a thread, a descriptor. */
struct lsh_request *lsh_request_new(const char *host, uint16_t port, int *sys_errno);

/* Be done with it, answered or not; NULL is allowed. */
void lsh_request_drop(struct lsh_request *request);

#endif
