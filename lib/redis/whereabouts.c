#include "redis/whereabouts.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <string.h>

bool
lsh_is_host(const char *bytes, size_t size)
{
	static const char fit[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_%";

	for (size_t i = 0; i < size; i++)
		if (bytes[i] == '\0' || strchr(fit, bytes[i]) == NULL)
			return false;
	return size > 0 && size < LSH_HOST_SIZE;
}

bool
lsh_whereabouts_read(struct lsh_whereabouts *at, const char *host, size_t host_size, const char *port,
                     size_t port_size)
{
	uint64_t n;

	if (!lsh_is_host(host, host_size) || !lsh_decimal_read(port, port_size, &n) || n == 0 || n > UINT16_MAX)
		return false;
	memcpy(at->host, host, host_size);
	at->host[host_size] = '\0';
	at->port = (uint16_t)n;
	return true;
}

bool
lsh_is_same_host(const char *a, const char *b)
{
	struct in6_addr x, y;

	return lsh_is_like(a, b) || (inet_pton(AF_INET6, a, &x) == 1 && inet_pton(AF_INET6, b, &y) == 1 &&
	                             memcmp(&x, &y, sizeof x) == 0);
}

bool
lsh_is_same_place(const struct lsh_whereabouts *a, const char *host, uint16_t port)
{
	return a->port == port && lsh_is_same_host(a->host, host);
}
