/* As much of HTTP/1.1 as an exporter needs: what a request asks for, and the head of an answer. Memory only. */
#ifndef LEASH_TOOLS_HTTP_H
#define LEASH_TOOLS_HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_REQUEST_MAX = 8192, HTTP_HEAD_SIZE = 320 };

enum http_asks {
	HTTP_NOTHING_YET, /* it goes on */
	HTTP_METRICS,
	HTTP_HEALTH,
	HTTP_BAD_REQUEST,
	HTTP_NOT_FOUND,
	HTTP_OTHER_METHOD,
};

struct http_request {
	enum http_asks asks;
	bool head_only;
};

/* The beginning of what a client has sent, up to HTTP_REQUEST_MAX bytes, and a NUL behind. */
struct http_request http_read(const char *bytes, size_t size);

/* The head of an answer; `out`: of HTTP_HEAD_SIZE. Returns its length. */
size_t http_head(char *out, int status, const char *type, size_t size);

#endif
