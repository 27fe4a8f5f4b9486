#include "tests/fault/refused.h"
#include "tests/support/test.h"

int64_t
patience_ms(void)
{
	int64_t ms = slow_ms(2500);

	return ms < 60000 ? ms : 60000;
}

void
check_text(const char *text, const char *names)
{
	size_t n = strlen(text);

	if (n == 0 || n >= sizeof((leash_error *)NULL)->text)
		fail_msg("a text of %zu bytes", n);
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			fail_msg("byte %zu is not printable: %s", i, text);
	if (strcasestr(text, names) == NULL)
		fail_msg("'%s' is not named: %s", names, text);
	if (text[n - 1] == '.' && (n < 3 || strcmp(text + n - 3, "...") != 0))
		fail_msg("it ends with a full stop: %s", text);
}

void
await_renewals(leash_lock *held, int n)
{
	int64_t left = leash_lock_remaining_ms(held);

	while (n > 0) {
		int64_t now_left = leash_lock_remaining_ms(held);

		assert_true(leash_lock_held(held));
		if (now_left > left)
			n--;
		left = now_left;
		await_ms(1);
	}
}

/* ---- who listens ---- */

void
hear(struct ear *ear, const char *text)
{
	size_t n = strlen(text);

	pthread_mutex_lock(&ear->mutex);
	for (size_t i = 0; i < n; i++)
		if ((text[i] < ' ' || text[i] > '~') && ear->unprintable[0] == '\0')
			snprintf(ear->unprintable, sizeof ear->unprintable, "%s", text);
	if (n < sizeof ear->text - ear->size) {
		memcpy(ear->text + ear->size, text, n + 1);
		ear->size += n;
	}
	pthread_mutex_unlock(&ear->mutex);
}

void
hear_line(void *ear, leash_log_level level, const char *line)
{
	(void)level;
	hear(ear, line);
}

void
hear_event(void *ear, const leash_event *event)
{
	hear(ear, event->text);
}
