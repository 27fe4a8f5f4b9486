/* What a server's refusal means: the words of Redis 6.2 to 8 and Valkey, as they were said, and words that only look
 * like them. */
#include "redis/fault.h"

#include "tests/support/test.h"

/* What a server appends to the words of a command that a script called. */
#define SCRIPT " script: b2b7c6a098aac92fc4bb002d610743cb5c1f321b, on @user_script:9."
/* What Redis 6.2 puts before them. */
#define SCRIPT_6_2 "ERR Error running script (call to f_b2b7c6a098aac92fc4bb002d610743cb5c1f321b): @user_script:9: "
/* What EVALSHA is said to be where it was renamed away: the name of a lock may be any word. */
#define NO_EVALSHA(name) \
	"ERR unknown command 'EVALSHA', with args beginning with: 'b2b7c6a098aac92fc4bb002d610743cb5c1f321b' '3' '" name \
	"' "

/* The first word says it; what comes after it changes nothing. What a script was refused is found behind ERR. */
static const struct refusal {
	const char *name;
	enum lsh_fault fault;
	const char *texts[48];
} refusals[] = {
	{"the_script_or_a_command_of_it_is_not_known", LSH_FAULT_NOSCRIPT, {
		"NOSCRIPT No matching script. Please use EVAL.", "NOSCRIPT OOM command not allowed", NO_EVALSHA("leash:{a}"),
		NO_EVALSHA("leash:{WRONGTYPE}"), "ERR Unknown Redis command called from script" SCRIPT,
	}},
	{"the_server_cannot_do_it_now", LSH_FAULT_NOT_NOW, {
		"LOADING Redis is loading the dataset in memory", "LOADING Valkey is loading the dataset in memory", "LOADING",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN The cluster is down",
		"CLUSTERDOWN Hash slot not served",
	}},
	{"the_server_is_a_replica", LSH_FAULT_NOT_HERE, {
		"READONLY You can't write against a read only replica.", "READONLY WRONGTYPE",
		"READONLY You can't write against a read only replica." SCRIPT,
		SCRIPT_6_2 "-READONLY You can't write against a read only replica.",
		"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
		("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is "
		 "configured to be writable (which is not the default) writes to replicas are just local and are not "
		 "propagated."),
		"ERR WAITAOF cannot be used with replica instances.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	}},
	{"the_server_takes_no_writes", LSH_FAULT_REFUSED, {
		"OOM command not allowed when used memory > 'maxmemory'.", "OOM",
		"OOM command not allowed when used memory > 'maxmemory'." SCRIPT,
		SCRIPT_6_2 "@user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.",
		("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands "
		 "that may modify the data set are disabled, because this instance is configured to report errors during "
		 "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for "
		 "details about the RDB error."),
		SCRIPT_6_2 "-MISCONF Redis is configured to save RDB snapshots",
		"NOREPLICAS Not enough good replicas to write.", "NOREPLICAS Not enough good replicas to write." SCRIPT,
		SCRIPT_6_2 "-NOREPLICAS Not enough good replicas to write.",
	}},
	{"the_user_may_not_do_it", LSH_FAULT_DENIED, {
		"NOAUTH Authentication required.", "WRONGPASS invalid username-password pair or user is disabled.",
		"NOPERM this user has no permissions to run the 'evalsha' command", "NOPERM unknown command",
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"NOPERM User default has no permissions to run the 'evalsha' command", "NOPERM No permissions to access a key",
		/* Redis 7.0 */
		"ERR The user executing the script can't run this command or subcommand" SCRIPT,
		"ERR The user executing the script can't run this command or subcommand (PEXPIRE)",
		("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments"
		 SCRIPT),
		/* Redis 7.2 and later, Valkey */
		"ERR ACL failure in script: User default has no permissions to run the 'set' command" SCRIPT,
		"ERR ACL failure in script: User default has no permissions to run the 'pexpire' command (PEXPIRE)",
		"ERR ACL failure in script: No permissions to access a key" SCRIPT,
		/* Redis 6.2 */
		SCRIPT_6_2 "@user_script: 9: The user executing the script can't run this command or subcommand",
	}},
	{"the_key_holds_something_else", LSH_FAULT_MISMATCH, {
		"WRONGTYPE Operation against a key holding the wrong kind of value",
		"WRONGTYPE Operation against a key holding the wrong kind of value" SCRIPT,
		SCRIPT_6_2 "WRONGTYPE Operation against a key holding the wrong kind of value",
	}},
	{"the_server_is_of_a_cluster", LSH_FAULT_CLUSTER, {
		"MOVED 3999 127.0.0.1:6381", "MOVED ", "ASK 3999 127.0.0.1:6381",
		"CROSSSLOT Keys in request don't hash to the same slot",
	}},
	/* and a plain ERR, whatever word it has in it */
	{"words_that_only_look_like_them_are_unknown", LSH_FAULT_UNKNOWN, {
		"BUSYKEY Target key name already exists.", "BUSYGROUP Consumer Group name already exists",
		"NOTBUSY No scripts in execution right now.",
		"UNKILLABLE Sorry the script already executed write commands against the dataset.",
		"NOPROTO unsupported protocol version", "EXECABORT Transaction discarded because of previous errors.",
		"INPROG Failover already in progress.", "NOSCRIPTS", "NOSCRIP T", "READONLYISH You can't", "LOADING: a while",
		"MASTERDOWNED", "OOMPH", "OO", "MISCONFIGURED", "NOPERMISSION", "NOAUTHS Authentication required.",
		"MOVEDTO 3999 127.0.0.1:6381", "MOVE", "ASKING", "CLUSTERDOWN\tThe cluster is down", "TRYAGAINST",
		"noscript No matching script", "Loading", " LOADING Redis is loading", "-LOADING Redis is loading", "", " ",
		"ERR", "ERR syntax error", "ERR max number of clients reached", "ERR leash: a lease has 1 to 86400000 ms",
		"ERR value is not an integer or out of range" SCRIPT,
		"ERR user_script:9: attempt to perform arithmetic on a nil value" SCRIPT,
		"ERR user_script:1: Attempt to modify a readonly table" SCRIPT, "ERR LOADING",
		"ERR NOSCRIPT No matching script", "ERR BUSY", "ERR MOVED 3999 127.0.0.1:6381", "ERR OOM", "ERR READONLY",
		"ERR NOAUTH", "ERR NOPERM",
	}},
};

SENTENCES(means_this, refusals)
{
	const struct refusal *refusal = given;

	for (const char *const *text = refusal->texts; *text != NULL; text++)
		if (lsh_fault_of(*text) != refusal->fault)
			fail_msg("%d instead of %d: %s", (int)lsh_fault_of(*text), (int)refusal->fault, *text);
}

SENTENCE(a_refusal_is_told_in_plain_words_with_its_key_and_never_cut_in_one)
{
	static const struct {
		const char *text, *command, *key, *told;
	} cases[] = {
		{"READONLY You can't write against a read only replica." SCRIPT, NULL, NULL,
		 "it is a replica, which takes no writes (READONLY): name the master in the URI, or let sentinels find it"},
		{SCRIPT_6_2 "-READONLY You can't write against a read only replica.", NULL, NULL,
		 "it is a replica, which takes no writes (READONLY): name the master in the URI, or let sentinels find it"},
		{"OOM command not allowed when used memory > 'maxmemory'." SCRIPT, "SET", NULL, "its memory is full (OOM): make room, or raise its maxmemory"},
		{"WRONGTYPE Operation against a key holding the wrong kind of value" SCRIPT, "GET", "leash:{a}:fence",
		 "the key 'leash:{a}:fence' holds something else, perhaps a lock of another kind (WRONGTYPE): use another name"},
		{"WRONGTYPE Operation against a key", NULL, NULL, "one of its keys holds something else, perhaps a lock of another kind (WRONGTYPE): use another name"},
		{"ERR The user executing the script can't run this command or subcommand" SCRIPT, "PEXPIRE", NULL,
		 "PEXPIRE is not permitted: ERR The user executing the script can't run this command or subcommand (ACL SETUSER allows it)"},
		{"ERR unknown command 'EVAL', with args beginning with: 'b2b7' '3' 'leash:{a}' ", NULL, NULL,
		 "ERR unknown command 'EVAL': was it renamed (rename-command)?"},
		{"ERR something that nobody has heard of, and that goes on for longer than there is room for it in a line that is told to a person who "
		 "wants to know", NULL, NULL,
		 "ERR something that nobody has heard of, and that goes on for longer than there is room for it in a line that is told to a person who"},
	};
	char told[LSH_FAULT_TEXT];

	for (size_t i = 0; i < COUNT(cases); i++) {
		lsh_fault_say(told, cases[i].text, cases[i].command, cases[i].key);
		assert_string_equal(told, cases[i].told);
	}
}

SENTENCE(each_fault_has_the_status_that_a_caller_is_given)
{
	static const leash_status statuses[] = {
		[LSH_FAULT_NONE] = LEASH_OK, [LSH_FAULT_NOSCRIPT] = LEASH_UNSUPPORTED, [LSH_FAULT_NOT_NOW] = LEASH_UNAVAILABLE,
		[LSH_FAULT_NOT_HERE] = LEASH_UNAVAILABLE, [LSH_FAULT_REFUSED] = LEASH_UNAVAILABLE, [LSH_FAULT_DENIED] = LEASH_DENIED,
		[LSH_FAULT_MISMATCH] = LEASH_MISMATCH, [LSH_FAULT_CLUSTER] = LEASH_UNSUPPORTED, [LSH_FAULT_UNKNOWN] = LEASH_PROTOCOL,
	};

	for (size_t i = 0; i < COUNT(statuses); i++)
		assert_int_equal(lsh_fault_status((enum lsh_fault)i), statuses[i]);
}
