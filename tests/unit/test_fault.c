/* What a server's refusal means: the words of Redis 6.2 to 8 and Valkey, as they were said, and words that only look like them. */
#include "redis/fault.h"

#include "tests/support/test.h"

/* What a server appends to the words of a command that a script called. */
#define SCRIPT " script: b2b7c6a098aac92fc4bb002d610743cb5c1f321b, on @user_script:9."
/* What Redis 6.2 puts before them. */
#define SCRIPT_6_2 "ERR Error running script (call to f_b2b7c6a098aac92fc4bb002d610743cb5c1f321b): @user_script:9: "

struct said {
	const char *text;
	enum lsh_fault fault;
};

static void
check(const struct said *said, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum lsh_fault fault = lsh_fault_of(said[i].text);

		if (fault != said[i].fault)
			fail_msg("%d instead of %d: %s", (int)fault, (int)said[i].fault, said[i].text);
	}
}

SENTENCE(the_first_word_says_what_a_refusal_means)
{
	static const struct said said[] = {
		{"NOSCRIPT No matching script. Please use EVAL.", LSH_FAULT_NOSCRIPT},
		{"LOADING Redis is loading the dataset in memory", LSH_FAULT_NOT_NOW},
		{"LOADING Valkey is loading the dataset in memory", LSH_FAULT_NOT_NOW},
		{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", LSH_FAULT_NOT_NOW},
		{"BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", LSH_FAULT_NOT_NOW},
		{"TRYAGAIN Multiple keys request during rehashing of slot", LSH_FAULT_NOT_NOW},
		{"CLUSTERDOWN The cluster is down", LSH_FAULT_NOT_NOW},
		{"CLUSTERDOWN Hash slot not served", LSH_FAULT_NOT_NOW},
		{"READONLY You can't write against a read only replica.", LSH_FAULT_NOT_HERE},
		{"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
		 LSH_FAULT_NOT_HERE},
		{"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is "
		 "configured to be writable (which is not the default) writes to replicas are just local and are not propagated.",
		 LSH_FAULT_NOT_HERE},
		{"ERR WAITAOF cannot be used with replica instances.", LSH_FAULT_NOT_HERE},
		{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", LSH_FAULT_NOT_HERE},
		{"OOM command not allowed when used memory > 'maxmemory'.", LSH_FAULT_REFUSED},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may "
		 "modify the data set are disabled, because this instance is configured to report errors during writes if RDB "
		 "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
		 LSH_FAULT_REFUSED},
		{"NOREPLICAS Not enough good replicas to write.", LSH_FAULT_REFUSED},
		{"NOAUTH Authentication required.", LSH_FAULT_DENIED},
		{"WRONGPASS invalid username-password pair or user is disabled.", LSH_FAULT_DENIED},
		{"NOPERM this user has no permissions to run the 'evalsha' command", LSH_FAULT_DENIED},
		{"NOPERM this user has no permissions to access one of the keys used as arguments", LSH_FAULT_DENIED},
		{"NOPERM User default has no permissions to run the 'evalsha' command", LSH_FAULT_DENIED},
		{"NOPERM No permissions to access a key", LSH_FAULT_DENIED},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", LSH_FAULT_MISMATCH},
		{"MOVED 3999 127.0.0.1:6381", LSH_FAULT_CLUSTER},
		{"ASK 3999 127.0.0.1:6381", LSH_FAULT_CLUSTER},
		{"CROSSSLOT Keys in request don't hash to the same slot", LSH_FAULT_CLUSTER},
		/* the word alone is enough */
		{"LOADING", LSH_FAULT_NOT_NOW},
		{"OOM", LSH_FAULT_REFUSED},
		{"MOVED ", LSH_FAULT_CLUSTER},
		/* what comes after it changes nothing */
		{"NOPERM unknown command", LSH_FAULT_DENIED},
		{"READONLY WRONGTYPE", LSH_FAULT_NOT_HERE},
		{"NOSCRIPT OOM command not allowed", LSH_FAULT_NOSCRIPT},
		{"OOM command not allowed when used memory > 'maxmemory'." SCRIPT, LSH_FAULT_REFUSED},
		{"NOREPLICAS Not enough good replicas to write." SCRIPT, LSH_FAULT_REFUSED},
		{"READONLY You can't write against a read only replica." SCRIPT, LSH_FAULT_NOT_HERE},
		{"WRONGTYPE Operation against a key holding the wrong kind of value" SCRIPT, LSH_FAULT_MISMATCH},
		/* what a script was refused is found behind ERR: Redis 7.0 */
		{"ERR The user executing the script can't run this command or subcommand" SCRIPT, LSH_FAULT_DENIED},
		{"ERR The user executing the script can't run this command or subcommand (PEXPIRE)", LSH_FAULT_DENIED},
		{"ERR The user executing the script can't access at least one of the keys mentioned in the command arguments" SCRIPT,
		 LSH_FAULT_DENIED},
		/* Redis 7.2 and later, Valkey */
		{"ERR ACL failure in script: User default has no permissions to run the 'set' command" SCRIPT, LSH_FAULT_DENIED},
		{"ERR ACL failure in script: User default has no permissions to run the 'pexpire' command (PEXPIRE)", LSH_FAULT_DENIED},
		{"ERR ACL failure in script: No permissions to access a key" SCRIPT, LSH_FAULT_DENIED},
		/* Redis 6.2 */
		{SCRIPT_6_2 "@user_script: 9: The user executing the script can't run this command or subcommand", LSH_FAULT_DENIED},
		{SCRIPT_6_2 "WRONGTYPE Operation against a key holding the wrong kind of value", LSH_FAULT_MISMATCH},
		{SCRIPT_6_2 "@user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.", LSH_FAULT_REFUSED},
		{SCRIPT_6_2 "-READONLY You can't write against a read only replica.", LSH_FAULT_NOT_HERE},
		{SCRIPT_6_2 "-MISCONF Redis is configured to save RDB snapshots", LSH_FAULT_REFUSED},
		{SCRIPT_6_2 "-NOREPLICAS Not enough good replicas to write.", LSH_FAULT_REFUSED},
		/* all of them: EVALSHA, or what a script calls, was renamed away */
		{"ERR unknown command 'EVALSHA', with args beginning with: 'b2b7c6a098aac92fc4bb002d610743cb5c1f321b' '3' 'leash:{a}' ",
		 LSH_FAULT_NOSCRIPT},
		{"ERR unknown command 'EVALSHA', with args beginning with: 'b2b7c6a098aac92fc4bb002d610743cb5c1f321b' '3' 'leash:{WRONGTYPE}' ",
		 LSH_FAULT_NOSCRIPT}, /* the name of a lock may be any word */
		{"ERR Unknown Redis command called from script" SCRIPT, LSH_FAULT_NOSCRIPT},
	};

	check(said, COUNT(said));
}

/* And a plain ERR, whatever word it has in it. */
SENTENCE(words_that_only_look_like_them_are_unknown)
{
	static const char *const unknown[] = {
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
	};

	for (size_t i = 0; i < COUNT(unknown); i++)
		check(&(struct said){unknown[i], LSH_FAULT_UNKNOWN}, 1);
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
		 "the key 'leash:{a}:fence' holds something else (WRONGTYPE): delete it, or use another name"},
		{"WRONGTYPE Operation against a key", NULL, NULL, "one of its keys holds something else (WRONGTYPE): delete it, or use another name"},
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
