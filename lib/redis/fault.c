/* The refusals of servers, and what to say of each. This is the only table of them. */
#include "redis/fault.h"

#include "base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What it is, and what to do about it. Without such words the server's own are told. */
#define NAME_THE_MASTER ": name the master in the URI, or let sentinels find it"
#define UNBLOCKED_SAYS  "it became a replica, so that no replica acknowledges to it (WAIT)" NAME_THE_MASTER
#define READONLY_SAYS   "it is a replica, which takes no writes (READONLY)" NAME_THE_MASTER
#define MASTERDOWN_SAYS "it is a replica that has lost its master (MASTERDOWN)" NAME_THE_MASTER
#define OOM_SAYS        "its memory is full (OOM): make room, or raise its maxmemory"
#define MISCONF_SAYS    "it takes no writes because it could not save its data (MISCONF): see its log and its disk"
#define NOREPLICAS_SAYS \
	"it takes no writes, too few replicas are connected (NOREPLICAS): see INFO replication and min-replicas-to-write"

static const struct refusal {
	enum { FIRST_WORD, ANYWHERE } where;
	const char *text;
	enum lsh_fault fault;
	const char *says;
} table[] = {
	{FIRST_WORD, "NOSCRIPT", LSH_FAULT_NOSCRIPT, NULL},
	{FIRST_WORD, "LOADING", LSH_FAULT_NOT_NOW, "it is still loading its data (LOADING): wait until it has finished"},
	{FIRST_WORD, "BUSY", LSH_FAULT_NOT_NOW, "it is busy with a script that does not end (BUSY): SCRIPT KILL ends that"},
	{FIRST_WORD, "TRYAGAIN", LSH_FAULT_NOT_NOW,
	 "the slot of this lock is being moved (TRYAGAIN): try again in a moment"},
	{FIRST_WORD, "CLUSTERDOWN", LSH_FAULT_NOT_NOW,
	 "no server serves the slot of this lock now (CLUSTERDOWN): see CLUSTER INFO and CLUSTER NODES"},
	{FIRST_WORD, "READONLY", LSH_FAULT_NOT_HERE, READONLY_SAYS},
	{FIRST_WORD, "MASTERDOWN", LSH_FAULT_NOT_HERE, MASTERDOWN_SAYS},
	{FIRST_WORD, "UNBLOCKED", LSH_FAULT_NOT_HERE, UNBLOCKED_SAYS},
	{FIRST_WORD, "OOM", LSH_FAULT_REFUSED, OOM_SAYS},
	{FIRST_WORD, "MISCONF", LSH_FAULT_REFUSED, MISCONF_SAYS},
	{FIRST_WORD, "NOREPLICAS", LSH_FAULT_REFUSED, NOREPLICAS_SAYS},
	{FIRST_WORD, "NOAUTH", LSH_FAULT_DENIED,
	 "it wants a password (NOAUTH): write it into the URI, or name a file by password_file="},
	{FIRST_WORD, "WRONGPASS", LSH_FAULT_DENIED, NULL},
	{FIRST_WORD, "NOPERM", LSH_FAULT_DENIED, NULL},
	{FIRST_WORD, "WRONGTYPE", LSH_FAULT_MISMATCH, NULL},
	{FIRST_WORD, "MOVED", LSH_FAULT_CLUSTER, NULL},
	{FIRST_WORD, "ASK", LSH_FAULT_CLUSTER, NULL},
	{FIRST_WORD, "CROSSSLOT", LSH_FAULT_CLUSTER, NULL},
	/* What a command inside a script was refused for stands behind "ERR", in words that differ from version to version.
	 * First: EVALSHA was renamed away, and EVAL may still be there; it quotes the keys */
	{ANYWHERE, "unknown command", LSH_FAULT_NOSCRIPT, NULL},
	{ANYWHERE, "Unknown Redis command", LSH_FAULT_NOSCRIPT, NULL}, /* one that a script calls was renamed */
	{ANYWHERE, "WRONGTYPE", LSH_FAULT_MISMATCH, NULL},
	{ANYWHERE, "The user executing the script", LSH_FAULT_DENIED, NULL},
	{ANYWHERE, "ACL failure in script", LSH_FAULT_DENIED, NULL},
	{ANYWHERE, "OOM command not allowed", LSH_FAULT_REFUSED, OOM_SAYS},
	{ANYWHERE, "-READONLY ", LSH_FAULT_NOT_HERE, READONLY_SAYS},
	{ANYWHERE, "cannot be used with replica instances", LSH_FAULT_NOT_HERE, UNBLOCKED_SAYS},
	{ANYWHERE, "-MISCONF ", LSH_FAULT_REFUSED, MISCONF_SAYS},
	{ANYWHERE, "-NOREPLICAS ", LSH_FAULT_REFUSED, NOREPLICAS_SAYS},
	{ANYWHERE, "", LSH_FAULT_UNKNOWN, NULL}, /* all others */
};

static const struct refusal *
look_up(const char *text)
{
	const struct refusal *r = table;

	while (r->where == FIRST_WORD ? !lsh_starts_with_word(text, r->text) : strstr(text, r->text) == NULL)
		r++;
	return r;
}

enum lsh_fault
lsh_fault_of(const char *text)
{
	return look_up(text)->fault;
}

/* How much of the server's own words tells a person something: not the digest of a script, nor the arguments. */
static size_t
worth_telling(const char *text, size_t room)
{
	static const char *const tails[] = {" script: ", ", with args beginning with", ", on @user_script"};
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
		const char *tail = strstr(text, tails[i]);

		if (tail != NULL && (size_t)(tail - text) < n)
			n = (size_t)(tail - text);
	}
	if (n > room) {
		for (n = room; n > room / 2 && text[n] != ' ';) /* not in the middle of a word, unless there is but one */
			n--;
		n = text[n] == ' ' ? n : room;
	}
	while (n > 0 && (text[n - 1] == '.' || text[n - 1] == ' '))
		n--;
	return n;
}

void
lsh_fault_say(char out[static LSH_FAULT_TEXT], const char *text, const char *command, const char *key)
{
	char head[40] = "", shown[40] = "";
	const struct refusal *refusal = look_up(text);
	const enum lsh_fault fault = refusal->fault;
	const char *tail = "";

	if (key != NULL)
		lsh_show(shown, sizeof shown, key, strlen(key));
	if (fault == LSH_FAULT_DENIED && command != NULL)
		snprintf(head, sizeof head, "%.20s is not permitted: ", command);
	if (fault == LSH_FAULT_DENIED && !lsh_starts_with_word(text, "WRONGPASS"))
		tail = " (ACL SETUSER allows it)";
	else if (fault == LSH_FAULT_NOSCRIPT && !lsh_starts_with_word(text, "NOSCRIPT"))
		tail = ": was it renamed (rename-command)?";

	if (fault == LSH_FAULT_MISMATCH)
		snprintf(out, LSH_FAULT_TEXT,
		         "%s%s%s holds something else, perhaps a lock of another kind (WRONGTYPE): use another name",
		         key != NULL ? "the key '" : "one of its keys", shown, key != NULL ? "'" : "");
	else if (refusal->says != NULL)
		snprintf(out, LSH_FAULT_TEXT, "%s", refusal->says);
	else
		snprintf(out, LSH_FAULT_TEXT, "%s%.*s%s", head,
		         (int)worth_telling(text, LSH_FAULT_TEXT - 1 - strlen(head) - strlen(tail)), text, tail);
}

leash_status
lsh_fault_status(enum lsh_fault fault)
{
	static const leash_status statuses[] = {
		[LSH_FAULT_NONE] = LEASH_OK,
		[LSH_FAULT_NOSCRIPT] = LEASH_UNSUPPORTED, /* neither EVALSHA nor EVAL */
		[LSH_FAULT_NOT_NOW] = LEASH_UNAVAILABLE,
		[LSH_FAULT_NOT_HERE] = LEASH_UNAVAILABLE,
		[LSH_FAULT_REFUSED] = LEASH_UNAVAILABLE,
		[LSH_FAULT_DENIED] = LEASH_DENIED,
		[LSH_FAULT_MISMATCH] = LEASH_MISMATCH,
		[LSH_FAULT_CLUSTER] = LEASH_UNSUPPORTED,
		[LSH_FAULT_UNKNOWN] = LEASH_PROTOCOL,
	};

	return statuses[fault];
}
