#include "tools/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A byte that no head has: this is TLS, or somebody who is lost. */
static bool
has_stray_byte(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] == '\0' || bytes[i] == 0x7f ||
		    ((unsigned char)bytes[i] < ' ' && strchr("\r\n\t", bytes[i]) == NULL))
			return true;
	return false;
}

static bool
is_method(const char *word, size_t n)
{
	return n > 0 && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == n;
}

static bool
names_host(const char *head)
{
	for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n'))
		if (strncasecmp(line + 1, "Host:", 5) == 0)
			return true;
	return false;
}

static bool
is_word(const char *text, size_t n, const char *word)
{
	return n == strlen(word) && strncmp(text, word, n) == 0;
}

/* The end of the first line: " HTTP/1.1". That version wants a host, too. */
static bool
is_version(const char *at, const char *head)
{
	if (strncmp(at, " HTTP/1.", 8) != 0 || (at[8] != '0' && at[8] != '1') || (at[9] != '\r' && at[9] != '\n'))
		return false;
	return at[8] == '0' || names_host(head);
}

/* "GET /metrics HTTP/1.1" */
static struct http_request
read_head(const char *head)
{
	struct http_request request = {.asks = HTTP_BAD_REQUEST};
	size_t method = strcspn(head, " \r\n"), path;
	const char *at = head + method + 1;

	if (head[method] != ' ' || !is_method(head, method) || at[0] != '/' || !is_version(at + strcspn(at, " \r\n"), head))
		return request;
	path = strcspn(at, "? ");
	request.head_only = is_word(head, method, "HEAD");
	if (!request.head_only && !is_word(head, method, "GET"))
		request.asks = HTTP_OTHER_METHOD;
	else if (is_word(at, path, "/metrics"))
		request.asks = HTTP_METRICS;
	else
		request.asks = is_word(at, path, "/healthz") ? HTTP_HEALTH : HTTP_NOT_FOUND;
	return request;
}

struct http_request
http_read(const char *bytes, size_t size)
{
	if (has_stray_byte(bytes, size))
		return (struct http_request){.asks = HTTP_BAD_REQUEST};
	if (strstr(bytes, "\r\n\r\n") != NULL || strstr(bytes, "\n\n") != NULL)
		return read_head(bytes);
	return (struct http_request){.asks = size >= HTTP_REQUEST_MAX ? HTTP_BAD_REQUEST : HTTP_NOTHING_YET};
}

static const char *
reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Service Unavailable";
	}
}

size_t
http_head(char *out, int status, const char *type, size_t size)
{
	return (size_t)snprintf(out, HTTP_HEAD_SIZE, "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\n"
	                        "Content-Length: %zu\r\n%sConnection: close\r\n\r\n",
	                        status, reason_of(status), type, size, status == 405 ? "Allow: GET, HEAD\r\n" : "");
}
