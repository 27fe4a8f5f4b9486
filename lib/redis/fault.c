#include "redis/fault.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *word;
	enum lsh_fault fault;
} words[] = {
	{"NOSCRIPT", LSH_FAULT_NOSCRIPT},
	{"LOADING", LSH_FAULT_NOT_NOW},
	{"BUSY", LSH_FAULT_NOT_NOW},
	{"TRYAGAIN", LSH_FAULT_NOT_NOW},
	{"CLUSTERDOWN", LSH_FAULT_NOT_NOW},
	{"READONLY", LSH_FAULT_NOT_HERE},
	{"MASTERDOWN", LSH_FAULT_NOT_HERE},
	{"OOM", LSH_FAULT_REFUSED},
	{"MISCONF", LSH_FAULT_REFUSED},
	{"NOREPLICAS", LSH_FAULT_REFUSED},
	{"NOAUTH", LSH_FAULT_DENIED},
	{"WRONGPASS", LSH_FAULT_DENIED},
	{"NOPERM", LSH_FAULT_DENIED},
	{"WRONGTYPE", LSH_FAULT_MISMATCH},
	{"MOVED", LSH_FAULT_CLUSTER},
	{"ASK", LSH_FAULT_CLUSTER},
	{"CROSSSLOT", LSH_FAULT_CLUSTER},
};

/* What a command inside a script was refused for stands behind "ERR", in words that changed from version to version. */
static const struct {
	const char *part;
	enum lsh_fault fault;
} parts[] = {
	{"unknown command", LSH_FAULT_NOSCRIPT}, /* EVALSHA was renamed away; EVAL may still be there. First: it quotes the keys */
	{"Unknown Redis command", LSH_FAULT_NOSCRIPT}, /* one that a script calls was */
	{"WRONGTYPE", LSH_FAULT_MISMATCH},
	{"The user executing the script", LSH_FAULT_DENIED},
	{"ACL failure in script", LSH_FAULT_DENIED},
	{"OOM command not allowed", LSH_FAULT_REFUSED},
	{"-READONLY ", LSH_FAULT_NOT_HERE},
	{"-MISCONF ", LSH_FAULT_REFUSED},
	{"-NOREPLICAS ", LSH_FAULT_REFUSED},
};

enum lsh_fault
lsh_fault_of(const char *text)
{
	size_t n = strcspn(text, " ");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i].word) == n && memcmp(words[i].word, text, n) == 0)
			return words[i].fault;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(text, parts[i].part) != NULL)
			return parts[i].fault;
	return LSH_FAULT_UNKNOWN;
}

leash_status
lsh_fault_status(enum lsh_fault fault)
{
	switch (fault) {
	case LSH_FAULT_NONE:
		return LEASH_OK;
	case LSH_FAULT_DENIED:
		return LEASH_DENIED;
	case LSH_FAULT_MISMATCH:
		return LEASH_MISMATCH;
	case LSH_FAULT_CLUSTER:
	case LSH_FAULT_NOSCRIPT: /* neither EVALSHA nor EVAL */
		return LEASH_UNSUPPORTED;
	case LSH_FAULT_NOT_NOW:
	case LSH_FAULT_NOT_HERE:
	case LSH_FAULT_REFUSED:
		return LEASH_UNAVAILABLE;
	case LSH_FAULT_UNKNOWN:
		break;
	}
	return LEASH_PROTOCOL;
}
