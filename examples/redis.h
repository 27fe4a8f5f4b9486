/* Just enough to reach the server of a leash URI with hiredis, for examples that talk to Redis themselves:
 * redis://host[:port] and unix:///path. The library needs none of this. */
#ifndef LEASH_EXAMPLES_REDIS_H
#define LEASH_EXAMPLES_REDIS_H

#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL, after a line on stderr, if there is no connection. */
static redisContext *
connect_to(const char *uri)
{
	char host[256];
	int port = 6379;
	redisContext *redis;

	if (uri == NULL)
		uri = getenv("LEASH_URI");
	if (uri == NULL)
		uri = "redis://127.0.0.1:6379";
	if (strncmp(uri, "unix:///", 8) == 0 && strpbrk(uri, "?%") == NULL) {
		redis = redisConnectUnix(uri + 7);
	} else if (sscanf(uri, "redis://%255[^:]:%d", host, &port) >= 1 && strpbrk(uri + 8, "[@/?%") == NULL) {
		redis = redisConnect(host, port);
	} else {
		fprintf(stderr, "%s: this example understands redis://host[:port] and unix:///path only\n", uri);
		return NULL;
	}
	if (redis != NULL && redis->err == 0)
		return redis;
	fprintf(stderr, "%s: %s\n", uri, redis != NULL ? redis->errstr : "out of memory");
	redisFree(redis);
	return NULL;
}

#endif
