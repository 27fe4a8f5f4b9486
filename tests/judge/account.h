/* The account: what all histories of a run tell, put together: which processes there were, what each hold was from its ask to
 * the answer of its release, and what was done to them. Rules are in verdict.c; here are only the objections that a history
 * makes no sense.
 *
 * Moments are ns of CLOCK_BOOTTIME, as in the histories; NEVER is later than all of them. Indices stand for pointers while arrays
 * grow: 5 million records are an ordinary run. One thread. */
#pragma once

#include "tests/judge/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS INT64_C(1000000)
#define NEVER INT64_MAX
#define NOBODY UINT32_MAX

/* An array that grows. */
#define ARRAY(type) struct { type *at; size_t count, capacity; }
#define PUSH(array, ...) \
	do { \
		if ((array)->count == (array)->capacity) \
			(array)->at = account_grown((array)->at, &(array)->capacity, sizeof(*(array)->at)); \
		(array)->at[(array)->count++] = __VA_ARGS__; \
	} while (0)

#define EACH(type, one, array) \
	for (type *one = (array).at, *one##_end = one ? one + (array).count : one; one < one##_end; one++)

/* Less than, equal to, or greater than 0. */
static inline int
account_compare(int64_t left, int64_t right)
{
	return (left > right) - (left < right);
}

/* An order of pointers: by lock, by a field, and else as they lie in their array. */
#define ORDER(name, type, field) \
	static int name(const void *left, const void *right) \
	{ \
		const type *l = *(type *const *)left, *r = *(type *const *)right; \
		int locks = account_compare(l->lock, r->lock), fields = account_compare((int64_t)l->field, (int64_t)r->field); \
\
		return locks ? locks : fields ? fields : (l > r) - (l < r); \
	}

/* The first `i` below `count` of which it is not so, `count` if there is none: it is so of those before it alone. */
#define FIRST_NOT(i, count, it_is_so) \
	size_t i = 0; \
	for (size_t low_ = 0, high_ = (count); low_ < high_; i = low_) { \
		i = low_ + (high_ - low_) / 2; \
		if (it_is_so) \
			low_ = i + 1; \
		else \
			high_ = i; \
	}

/* Of a file, which stays mapped. */
struct word {
	const char *at;   /* not NUL-terminated */
	uint32_t size;
	int64_t number;   /* if it is one */
};

enum answer {
	ANSWER_NONE,   /* not answered */
	ANSWER_OK, ANSWER_TIMEOUT, ANSWER_LOST, ANSWER_NOT_HELD, ANSWER_CANCELED, ANSWER_UNAVAILABLE, ANSWER_UNKNOWN,
	ANSWER_OTHER,  /* of which nothing follows */
};

struct hold {
	uint64_t number;               /* in its process */
	uint32_t process, lock, token; /* token: NOBODY, unless it was got */
	uint32_t old, next;            /* which was traded for it; for which it was traded; indices, NOBODY: none */
	uint32_t ask_line, got_line, until_line, give_line, told_line;
	uint32_t count, limit;         /* it is so many, while no more than the limit are out; 1 of 1: it is alone; limit 0: any number */
	enum answer got_answer : 8, gave_answer : 8;
	bool is_permits : 1;           /* without a fence */
	bool meets : 1, awaits : 1;    /* at a gate, for so many as `limit` says; there is nothing to hold */
	bool of_set : 1;               /* it may have been had before it was got */
	bool waited : 1;               /* what was traded for it was given up, for a condition */
	bool valid : 1;                /* at some moment */
	bool excused : 1;              /* a breach came while it was valid, or while it was asked for */
	bool excused_later : 1;        /* ... or before all was over with it */
	bool emptied : 1;              /* the same two, also if the server was only emptied: the hold may be lost, but to nobody else */
	bool emptied_later : 1;
	bool objected : 1;             /* to its fence */
	bool unsettled : 1;            /* it was lost while it was traded for less, and had company from then on, perhaps */
	int64_t asked, wait_ms, got;
	int64_t since;                 /* its grant is younger than that: asked, or, if excused, when the first with its token asked */
	int64_t until;                 /* the greatest valid-until that was noted */
	int64_t told;                  /* lost, by an event or by a look that says that it is not held */
	int64_t announced;             /* lost, by an event; a look may have come before it */
	int64_t give, gave;
	int64_t last;                  /* its last record; events are none of it */
	int64_t let_go;                /* from when on its process does not claim it any more: give, or thread or process ended */
	int64_t ends;                  /* its validity */
	uint64_t fence;                /* 0: it was not got, or lost at once; or it is permits */
	int64_t later;                 /* when the first was got for which it had ended: that with a larger fence; or, if it has none, that
	                                  which left no room for it */
	const struct hold *later_hold; /* and which it is */
};

/* A write to a register. */
struct deed {
	int64_t before, moment;        /* it was done in between */
	uint64_t fence;
	uint32_t hold, lock, line;
	bool taken;
};

/* At a latch. */
struct arrival {
	int64_t moment;
	uint32_t lock;
};

/* Who leads, as somebody was told. */
struct news {
	int64_t moment;
	uint64_t fence, number;        /* the second is that of the hold, in its process, */
	struct word name;              /* which is called so */
	uint32_t process, lock, token, line;
};

struct renewal {
	int64_t moment;
	uint32_t token, file, line;
	bool late;                     /* it may have been sent long before */
};

struct span {
	int64_t from, to;
	int64_t sum;                   /* of the lengths of those before */
};

struct process {
	uint32_t file;
	int64_t pid;
	int64_t started, last, ended, killed;
	uint32_t first_hold, holds;
	ARRAY(struct span) stills;     /* when it stood still; when all has been read: in order, apart from each other */
	size_t frozen;                 /* that of them which has not ended yet, + 1; 0: none */
};

struct file {
	char *name;
	char *text;
	size_t size;
};

/* Names, each known by a number from 0 on. */
struct names {
	ARRAY(struct word) words;
	void *tree;                    /* of struct name */
};

/* What the nemesis did, and lines without an end: what it means for whom is known when all has been read. */
enum mark_kind { MARK_KILLED, MARK_FROZEN, MARK_THAWED, MARK_BREACH, MARK_MENDED };

struct mark {
	int64_t moment, pid;
	uint32_t file, line, process;
	enum mark_kind kind;
	bool emptied;                  /* a breach that is only that */
};

struct breach {
	struct span span;
	bool emptied;                  /* nothing was worse than that */
};

struct account {
	struct verdict *verdict;
	ARRAY(struct file) files;
	ARRAY(struct process) processes;
	ARRAY(struct hold) holds;      /* those of a process lie together */
	ARRAY(struct deed) deeds;
	ARRAY(struct renewal) renewals;
	ARRAY(struct arrival) arrivals;
	ARRAY(struct news) news;
	ARRAY(struct mark) marks, torn;
	ARRAY(struct breach) breaches; /* in order, apart from each other */
	struct names locks, tokens, parties;
	int64_t horizon;               /* the last moment in any history */
	struct hold **by_got, **by_since, **by_fence; /* the holds that were got, by lock and by that */
	size_t got;                    /* how many those are */
};

bool account_read(struct account *account, struct verdict *verdict, const char *folder);   /* false, and errno */
void account_free(struct account *account);

void *account_grown(void *at, size_t *capacity, size_t size);
uint32_t account_name(struct names *names, const struct word *word);         /* its number; a new one, if need be */
uint32_t account_known(const struct names *names, const struct word *word);   /* NOBODY: it has none */
void account_forget(struct names *names);
void *account_sorted(const void *all, size_t count, int (*order)(const void *, const void *));   /* a copy of an array of pointers */

/* Was it within a breach, at some moment from `from` to `to`? `emptied`: those count too that only emptied the server. */
bool account_breached(const struct account *account, int64_t from, int64_t to, bool emptied);

/* A token goes from hold to hold within a process; the last one is that with the largest fence, or that given last of those who read. */
const struct hold **account_last_holds(const struct account *account);   /* by token; freed by the caller */

/* For how much of that time the process did not stand still. */
int64_t account_awake(const struct process *process, int64_t from, int64_t to);

/* Until when it surely ran, if it did not stand still. */
int64_t account_alive(const struct account *account, const struct process *process);

/* Was killed, and left open what it was doing. */
bool account_cut_short(const struct process *process);

/* A violation. */
void account_object(struct account *account, enum verdict_rule rule, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "hold 7 (name:12)", with the line that is asked for. It stays for a few more. */
const char *account_hold(const struct account *account, const struct hold *hold, uint32_t line);

/* The violation says which lock it is about. */
void account_object_to(struct account *account, enum verdict_rule rule, uint32_t lock, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Take all lines of a history into the account (scribe.c). */
void scribe_read(struct account *account, uint32_t file);

/* Rules that have files of their own. */
void verdict_gates(struct account *account);
void verdict_leaders(struct account *account);
