#include "redis/info.h"

#include <string.h>

const char *
lsh_info_find(const char *info, const char *field, size_t *size)
{
	size_t n = strlen(field);

	for (const char *line = info; *line != '\0';) {
		size_t length = strcspn(line, "\r\n");

		if (length > n && memcmp(line, field, n) == 0 && line[n] == ':') {
			*size = length - n - 1;
			return line + n + 1;
		}
		line += length;
		line += strspn(line, "\r\n");
	}
	return NULL;
}
