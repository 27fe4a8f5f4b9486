/* See report.h. */
#include "tools/doctor/report.h"

#include "base/text.h"
#include "redis/secret.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 640, WORDS_MAX = 24 };

/* ---- telling ---- */

void
advise(struct doctor *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->remedy, sizeof d->remedy, format, args);
	va_end(args);
}

void
tell(struct doctor *d, enum level level, const char *format, ...)
{
	char raw[TEXT_SIZE], text[sizeof raw], remedy[sizeof d->remedy];
	struct finding finding = {.server = d->uri->shown, .topic = d->topic, .text = text, .level = level};
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	for (n = strlen(raw); n > 1 && raw[n - 1] == '.';) /* the words of a server end with a full stop at times */
		n--;
	lsh_show_text(text, sizeof text, raw, n);
	if (d->remedy[0] != '\0') {
		lsh_show_text(remedy, sizeof remedy, d->remedy, strlen(d->remedy));
		finding.remedy = remedy;
	}
	d->remedy[0] = '\0';
	d->told(d->arg, &finding);
}

bool
doctor_is_secret(const struct doctor *d, const char *bytes, size_t n)
{
	char *read;
	const bool unknown = lsh_uri_read_password(&read, d->uri, NULL) != LEASH_OK;
	const bool secret = unknown || lsh_secret_is_in(read != NULL ? read : d->uri->login.password, bytes, n);

	sodium_free(read);
	return secret;
}

const char *
doctor_words(const struct doctor *d, char *out, size_t size, const char *text, size_t n)
{
	if (doctor_is_secret(d, text, n))
		snprintf(out, size, "(not shown)");
	else
		lsh_show_text(out, size, text, n);
	return out;
}

const char *
doctor_trouble(const struct doctor *d, const leash_error *err)
{
	const char *text = err->text;
	size_t n = strnlen(d->uri->shown, 120); /* as much of it as errors have */

	return strncmp(text, d->uri->shown, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

bool
doctor_is_plain(const char *text, size_t n, const char *others)
{
	for (size_t i = 0; i < n; i++) {
		char c = text[i], letter = (char)(c | 0x20);

		if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') && (c == '\0' || strchr(others, c) == NULL))
			return false;
	}
	return n > 0;
}

const char *
doctor_user(const struct doctor *d)
{
	return d->user[0] != '\0' ? d->user : "NAME";
}

/* ---- asking ---- */

void
doctor_send(struct doctor *d, const char *const words[])
{
	struct lsh_arg args[WORDS_MAX];
	size_t n = 0;

	for (; words[n] != NULL && n < WORDS_MAX; n++)
		args[n] = lsh_arg_text(words[n]);
	if (d->status == LEASH_OK)
		lsh_informant_send(d->talk, args, n);
}

const struct redisReply *
doctor_receive(struct doctor *d)
{
	const struct redisReply *answer = NULL;

	if (d->status == LEASH_OK)
		d->status = lsh_talk_hear(d->talk, &answer, &d->err);
	return d->status == LEASH_OK ? answer : NULL;
}

struct lsh_item
doctor_receive_item(struct doctor *d)
{
	struct lsh_item item = lsh_answer_item(doctor_receive(d));

	doctor_note_hindrance(d, &item);
	return item;
}

void
doctor_note_hindrance(struct doctor *d, const struct lsh_item *answer)
{
	static const struct {
		const char *word;
		enum hindrance hindrance;
	} all[] = {
		{"OOM", HINDERED_FULL},
		{"READONLY", HINDERED_READ_ONLY},
		{"MISCONF", HINDERED_NO_SAVE},
		{"NOREPLICAS", HINDERED_FEW_REPLICAS},
		{"LOADING", HINDERED_LOADING},
		{"BUSY", HINDERED_BUSY},
		{"MASTERDOWN", HINDERED_MASTER_DOWN},
		{"MOVED", HINDERED_CLUSTER},
		{"ASK", HINDERED_CLUSTER},
		{"CROSSSLOT", HINDERED_CLUSTER},
		{"CLUSTERDOWN", HINDERED_CLUSTER},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all && answer->type == LSH_ERROR; i++)
		/* of a cluster, other nodes have other keys */
		if (lsh_starts_with_word(answer->text, all[i].word) &&
		    (all[i].hindrance != HINDERED_CLUSTER || d->target->cluster == NULL))
			d->hindrances |= all[i].hindrance;
}
