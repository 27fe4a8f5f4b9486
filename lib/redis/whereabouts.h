/* Hosts and ports: how servers say where others are, and which of them are the same. No locale matters. */
#ifndef LSH_REDIS_WHEREABOUTS_H
#define LSH_REDIS_WHEREABOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LSH_HOST_SIZE = 254 }; /* bytes of a name or an address: what DNS allows, and a NUL */

struct lsh_whereabouts {
	char host[LSH_HOST_SIZE]; /* a name or a numeric address */
	uint16_t port;
};

/* Could these bytes be a name or an address? No others are passed on to a resolver or a message. */
bool lsh_is_host(const char *bytes, size_t size);

/* Read a host, and a port in decimal, from 1 on. False: one of them is none. */
bool lsh_whereabouts_read(struct lsh_whereabouts *at, const char *host, size_t host_size, const char *port,
                          size_t port_size);

/* The same name, letter case aside, or the same address, however it is written. An alias is not found out. */
bool lsh_is_same_host(const char *a, const char *b);
bool lsh_is_same_place(const struct lsh_whereabouts *a, const char *host, uint16_t port);

#endif
