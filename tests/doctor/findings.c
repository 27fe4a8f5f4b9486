/* See findings.h. */
#include "tests/doctor/findings.h"

leash_error err;

struct found found[128];
size_t found_count;
char all_found[65536];

static void
check_line(const char *text, bool required)
{
	size_t n = strlen(text);

	assert_true(n > 0 || !required);
	for (size_t i = 0; i < n; i++)
		assert_in_range(text[i], ' ', '~');
	if (n > 0)
		assert_int_not_equal(text[n - 1], '.');
}

void
take(void *arg, const struct finding *f)
{
	struct found *to = &found[found_count++];

	assert_ptr_equal(arg, found);
	assert_true(found_count <= COUNT(found));
	assert_in_range(f->level, FINE, ERROR);
	to->level = f->level;
	snprintf(to->server, sizeof to->server, "%s", f->server);
	snprintf(to->topic, sizeof to->topic, "%s", f->topic);
	snprintf(to->text, sizeof to->text, "%s", f->text);
	snprintf(to->remedy, sizeof to->remedy, "%s", f->remedy != NULL ? f->remedy : "");
	check_line(f->server, true);
	check_line(f->topic, true);
	check_line(f->text, true);
	check_line(to->remedy, f->remedy != NULL);
	assert_null(strchr(f->topic, ' '));
	if (f->level >= WARNING)
		assert_non_null(f->remedy); /* nothing is wrong that nobody could mend */
	snprintf(all_found + strlen(all_found), sizeof all_found - strlen(all_found), "%s %s %s %s\n", f->server, f->topic,
	         f->text, to->remedy);
}

void
forget(void)
{
	found_count = 0;
	all_found[0] = '\0';
	memset(&err, 0, sizeof err);
}

leash_status
examine_with(const leash_options *options)
{
	forget();
	leash_status status = doctor_examine(options, take, found, &err);
	assert_null(strstr(all_found, SECRET));
	assert_null(strstr(err.text, SECRET));
	return status;
}

leash_status
examine(const char *uri)
{
	return examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS));
}

void
show_all(void)
{
	for (size_t i = 0; i < found_count; i++)
		print_message("# %d %s %s: %s | %s\n", (int)found[i].level, found[i].server, found[i].topic, found[i].text,
		              found[i].remedy);
}

int
count(enum level level, const char *topic, const char *part)
{
	int n = 0;

	for (size_t i = 0; i < found_count; i++)
		n += found[i].level >= level && strcmp(found[i].topic, topic) == 0 && strstr(found[i].text, part) != NULL;
	return n;
}

const struct found *
the(const char *topic, enum level level, const char *part)
{
	for (size_t i = 0; i < found_count; i++)
		if (strcmp(found[i].topic, topic) == 0 && found[i].level == level && strstr(found[i].text, part) != NULL)
			return &found[i];
	show_all();
	fail_msg("nothing of level %d was found on %s that says '%s'", (int)level, topic, part);
	return NULL;
}

void
check_worst(enum level level)
{
	enum level worst = FINE;

	for (size_t i = 0; i < found_count; i++)
		worst = found[i].level > worst ? found[i].level : worst;
	if (worst != level)
		show_all();
	assert_int_equal(worst, level);
}

void
check_remedy(const struct found *f, const char *part)
{
	if (strstr(f->remedy, part) == NULL)
		fail_msg("the remedy for '%s' is '%s', and says nothing of '%s'", f->text, f->remedy, part);
}
