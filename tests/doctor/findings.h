/* What the doctor's tests share: what was found. */
#pragma once

#include "tests/support/leashed.h"
#include "tests/support/test.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/doctor.h"

/* For one answer: servers here answer at once, however long this machine may stand still. */
enum { PATIENCE_MS = 60000 };

/* In each password that a test makes up: neither a finding nor an error may tell it. */
#define SECRET "sesame"

extern leash_error err;

struct found {
	enum level level;
	char server[200], topic[32], text[700], remedy[1100];
};

extern struct found found[128];
extern size_t found_count;
extern char all_found[65536];

void take(void *arg, const struct finding *f); /* with `found` as `arg` */

/* What was found before is forgotten. */
void forget(void);
leash_status examine_with(const leash_options *options);
leash_status examine(const char *uri);

/* How many findings of that level or a worse one have this topic, and say that. */
int count(enum level level, const char *topic, const char *part);
void check_worst(enum level level);

/* The one on that topic, of that level, that says that. */
const struct found *the(const char *topic, enum level level, const char *part);
void check_remedy(const struct found *f, const char *part);
void show_all(void);
