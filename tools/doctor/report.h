/* Report: what is known of the server that is looked at, how it is asked, and how what was found is told. All checks
 * stand on this. */
#ifndef LEASH_TOOLS_REPORT_H
#define LEASH_TOOLS_REPORT_H

#include "base/token.h"
#include "redis/handshake.h"
#include "redis/informant.h"
#include "redis/uri.h"
#include "tools/doctor/targets.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- findings ---- */

enum level {
	FINE,
	NOTE,    /* good to know */
	WARNING, /* locks work, but something that people expect of them does not hold */
	ERROR,   /* locks do not work, or are not safe */
	LEVELS,
};

/* One thing that was looked at. Its strings are printable, one line each, and valid during the callback only. */
struct finding {
	const char *server; /* which one, without secrets */
	const char *topic;  /* one word */
	const char *text;
	const char *remedy; /* NULL where there is nothing to fix */
	enum level level;
};

typedef void finding_fn(void *arg, const struct finding *finding);

/* ---- one server ---- */

/* What keeps a server from doing what it permits. */
enum hindrance {
	HINDERED_FULL = 1,          /* OOM */
	HINDERED_READ_ONLY = 2,     /* READONLY */
	HINDERED_NO_SAVE = 4,       /* MISCONF */
	HINDERED_FEW_REPLICAS = 8,  /* NOREPLICAS */
	HINDERED_LOADING = 16,
	HINDERED_BUSY = 32,
	HINDERED_MASTER_DOWN = 64,
	HINDERED_CLUSTER = 128,     /* MOVED, CLUSTERDOWN, ... */
};

enum config { CONFIG_APPENDFSYNC, CONFIG_SAVE, CONFIG_MIN_REPLICAS, CONFIG_MAXCLIENTS, CONFIG_TIMEOUT, CONFIGS };

enum {
	USER_SIZE = 65,
	CONFIG_SIZE = 96,
	KEY_SIZE = 160,  /* of each scratch key and of the channel */
	PROBES_MAX = 48,
};

struct doctor {
	finding_fn *told;
	void *arg;
	char prefix[65];
	char name[80];               /* for CLIENT SETNAME */
	int64_t timeout_ms;          /* for one answer */
	const struct target *target; /* the server, and */
	const struct lsh_uri *uri;   /* where it is */
	const char *topic;           /* of what is told now */
	char remedy[1024];           /* of the next finding; "": none */

	struct lsh_informant *talk;
	struct lsh_hello hello;
	leash_status status;         /* once it is not OK, the talk is over: nothing is sent or received any more */
	leash_error err;             /* likewise */

	char *info;                  /* what INFO said; NULL or "": nothing */
	char config[CONFIGS][CONFIG_SIZE];
	bool config_known[CONFIGS];
	char user[USER_SIZE];        /* "" if it is not known, or not fit to be part of a command */
	const char *conf_file;       /* "redis.conf" or "valkey.conf" */
	unsigned hindrances;         /* of enum hindrance */

	char uuid[LSH_UUID_SIZE + 1];        /* of a client that does not exist */
	struct lsh_informant *listener;           /* a second connection, which hears what that client would; NULL: none */
	unsigned char verdicts[PROBES_MAX];  /* see acl.c */
	char keys[3][KEY_SIZE];              /* lock, fence, queue */
	char presence[KEY_SIZE];             /* where such a client would say who it is */
	char channel[KEY_SIZE];
	char shard[KEY_SIZE + 48];           /* a channel in the slot of those keys, */
	char other_shard[KEY_SIZE + 56];     /* and another one */
	enum { NOT_TRIED, LOCK_WORKS, LOCK_FAILS } smoke;

	struct {
		int count;                     /* round trips that were measured */
		int64_t median_us, worst_us;
		int64_t ahead_us, within_us;   /* of the server's clock, and how exactly that is known */
	} trips;
};

/* ---- asking and telling ---- */

/* The remedy of what tell() tells next. */
void advise(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tell(struct doctor *d, enum level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Does the password stand in these bytes, as one that a server reads back to us? Also true if it cannot be read. */
bool doctor_is_secret(const struct doctor *d, const char *bytes, size_t n);

/* Bytes of the server, fit to be shown; without a password that it may have read back to us. Returns `out`. */
const char *doctor_words(const struct doctor *d, char *out, size_t size, const char *text, size_t n);

/* The text of an error without the server's name, which each finding has. */
const char *doctor_trouble(const struct doctor *d, const leash_error *err);

/* Is each byte a letter, a digit, or in `others`? Then it may be shown, and stand in a command. */
bool doctor_is_plain(const char *text, size_t n, const char *others);

/* The user, if that is known and fit to be part of a command; else "NAME". */
const char *doctor_user(const struct doctor *d);

/* Send a command: words, ended by NULL. */
#define DOCTOR_SEND(d, ...) doctor_send((d), (const char *const[]){__VA_ARGS__, NULL})
void doctor_send(struct doctor *d, const char *const words[]);

/* The next answer; NULL: the talk is over, d->status says why. As an item: a nil where there is none. */
const struct redisReply *doctor_receive(struct doctor *d);
struct lsh_item doctor_receive_item(struct doctor *d);

/* Note what an error says that hinders. */
void doctor_note_hindrance(struct doctor *d, const struct lsh_item *answer);

#endif
