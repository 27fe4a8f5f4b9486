/* What CMD finds in its environment. See environment.h.
 *
 * LEASH_NAME, LEASH_FENCE and LEASH_TOKEN have its lock, of several the first; or its permits, which have no fence.
 * LEASH_NAMES and LEASH_FENCES have all of them, a line each, so that a name is written as in a key. An inner run
 * overwrites those of the outer run. LEASH_HELD has the tokens of all runs around it. A run whose lock is held under
 * one of these tokens would wait for ever; it runs its CMD under the outer hold instead. Tokens are never used twice,
 * so old ones in LEASH_HELD do no harm. */
#include "tools/environment.h"

#include "tools/hold_set.h"

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

uint64_t
environment_fence(const char *token)
{
	const char *innermost = secure_getenv("LEASH_TOKEN"), *fence = secure_getenv("LEASH_FENCE");

	return innermost != NULL && fence != NULL && strcmp(innermost, token) == 0 ? strtoull(fence, NULL, 10) : 0;
}

/* ---- texts ---- */

/* As keys write them (lib/lua/README.md). */
static void
write_name(FILE *out, const char *name)
{
	for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
		if (*c <= ' ' || *c == 0x7f || *c == '{' || *c == '}' || *c == '%')
			fprintf(out, "%%%02X", *c);
		else
			putc(*c, out);
}

enum text { ALL_NAMES, ALL_FENCES, ALL_TOKENS, TEXTS };

static bool
write_texts(char *texts[TEXTS], const struct hold_set *set)
{
	FILE *out[TEXTS];
	size_t size[TEXTS];
	bool fine = true;

	for (int i = 0; i < TEXTS; i++)
		fine &= (out[i] = open_memstream(&texts[i], &size[i])) != NULL;
	if (fine)
		fputs(held(), out[ALL_TOKENS]);
	for (const struct holding *h = set->held; fine && h < set->held + set->count; h++) {
		const char *between = h > set->held ? "\n" : "";

		fputs(between, out[ALL_NAMES]);
		write_name(out[ALL_NAMES], h->name);
		if (set->held->fence != 0)
			fprintf(out[ALL_FENCES], "%s%llu", between, (unsigned long long)h->fence);
		if (h->outer == NULL) /* else it is there */
			fprintf(out[ALL_TOKENS], "%s%s", ftell(out[ALL_TOKENS]) > 0 ? " " : "", h->token);
	}
	for (int i = 0; i < TEXTS; i++)
		fine &= out[i] != NULL && fclose(out[i]) == 0;
	return fine;
}

/* ---- the list ---- */

struct variable {
	const char *name, *value; /* NULL: as it is; "": CMD has none */
};

static bool
is_replaced(const char *setting, const struct variable *variables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(variables[i].name);

		if (variables[i].value != NULL && strncmp(setting, variables[i].name, size) == 0 && setting[size] == '=')
			return true;
	}
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

/* A password that only some may read in a file goes to no environment. */
static const char *
uri_of(const struct cli *cli)
{
	return cli->uri != NULL && cli_has_password(cli->uri) ? secure_getenv("LEASH_URI") : cli->uri;
}

char **
environment_new(const struct cli *cli, bool has_uri, const char *value, const struct hold_set *set)
{
	const struct holding *first = set->held;
	char *texts[TEXTS] = {NULL};
	char digits[24] = "", **list = NULL;

	if (first->fence != 0)
		snprintf(digits, sizeof digits, "%llu", (unsigned long long)first->fence);
	if (write_texts(texts, set))
		list = make_list(
			(const struct variable[]){
				{"LEASH_NAME", first->name},
				{"LEASH_NAMES", texts[ALL_NAMES]},
				{"LEASH_FENCE", digits},
				{"LEASH_FENCES", texts[ALL_FENCES]},
				{"LEASH_TOKEN", first->token},
				{"LEASH_HELD", texts[ALL_TOKENS]},
				{"LEASH_URI", has_uri ? uri_of(cli) : ""},
				{"LEASH_PREFIX", cli->prefix},
				{"LEASH_VALUE", value},
			},
			9);
	for (int i = 0; i < TEXTS; i++)
		free(texts[i]);
	return list;
}
