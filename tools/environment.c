/* What CMD finds in its environment. See environment.h.
 *
 * LEASH_NAME, LEASH_FENCE and LEASH_TOKEN have its lock, or its permits, which have no fence; an inner run overwrites
 * those of the outer run. LEASH_HELD has the tokens of all runs around it. A run whose lock is held under one of these
 * tokens would wait for ever; it runs its CMD under the outer hold instead. Tokens are never used twice, so old ones in
 * LEASH_HELD do no harm. */
#include "tools/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *
held(void)
{
	const char *tokens = secure_getenv("LEASH_HELD");

	return tokens != NULL ? tokens : "";
}

bool
environment_has_no_token(void)
{
	return held()[strspn(held(), " ")] == '\0';
}

bool
environment_has_token(const char *token)
{
	size_t size = strlen(token);

	for (const char *at = held(); size > 0 && (at = strstr(at, token)) != NULL; at += size)
		if ((at == held() || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
			return true;
	return false;
}

struct variable {
	const char *name, *value; /* NULL: as it is; "": CMD has none */
};

static bool
is_of(const char *setting, const struct variable *variable)
{
	size_t size = strlen(variable->name);

	return strncmp(setting, variable->name, size) == 0 && setting[size] == '=';
}

static bool
is_replaced(const char *setting, const struct variable *variables, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (variables[i].value != NULL && is_of(setting, &variables[i]))
			return true;
	return false;
}

/* One block: the list, and behind it the new texts. */
static char **
make_list(const struct variable *variables, size_t count)
{
	size_t n = 0, size = 0;
	char **list, *text;

	for (char **at = environ; *at != NULL; at++)
		n++;
	for (size_t i = 0; i < count; i++)
		if (variables[i].value != NULL)
			size += strlen(variables[i].name) + strlen(variables[i].value) + 2;
	list = malloc((n + count + 1) * sizeof *list + size);
	if (list == NULL)
		return NULL;
	text = (char *)(list + n + count + 1);
	n = 0;
	for (char **at = environ; *at != NULL; at++)
		if (!is_replaced(*at, variables, count))
			list[n++] = *at;
	for (size_t i = 0; i < count; i++) {
		if (variables[i].value == NULL || variables[i].value[0] == '\0')
			continue;
		list[n++] = text;
		text = stpcpy(stpcpy(stpcpy(text, variables[i].name), "="), variables[i].value) + 1;
	}
	list[n] = NULL;
	return list;
}

char **
environment_new(const struct cli *cli, const char *name, uint64_t fence, const char *token, bool ours)
{
	char digits[24] = "", *tokens = NULL, **list;

	if (fence != 0)
		snprintf(digits, sizeof digits, "%llu", (unsigned long long)fence);
	if (ours && asprintf(&tokens, "%s%s%s", held(), environment_has_no_token() ? "" : " ", token) < 0)
		return NULL;
	list = make_list(
		(const struct variable[]){
			{"LEASH_NAME", name},
			{"LEASH_FENCE", digits},
			{"LEASH_TOKEN", token},
			{"LEASH_HELD", tokens},
			{"LEASH_URI", cli->uri},
			{"LEASH_PREFIX", cli->prefix},
		},
		6);
	free(tokens);
	return list;
}
