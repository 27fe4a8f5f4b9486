/* The names of numbers: of statuses and events, and of this version. */
#include <leash/event.h>
#include <leash/status.h>
#include <leash/version.h>

#include <stddef.h>

const char *
leash_status_name(leash_status status)
{
	switch (status) {
#define NAME(name, number, text) \
	case LEASH_##name: \
		return #name;
		LEASH_STATUS_MAP(NAME)
#undef NAME
	}
	return "?";
}

const char *
leash_status_text(leash_status status)
{
	switch (status) {
#define TEXT(name, number, text) \
	case LEASH_##name: \
		return text;
		LEASH_STATUS_MAP(TEXT)
#undef TEXT
	}
	return "unknown status";
}

const char *
leash_event_name(leash_event_type type)
{
	static const char *const names[] = {
		[LEASH_EVENT_JEOPARDY] = "JEOPARDY", [LEASH_EVENT_RECOVERED] = "RECOVERED", [LEASH_EVENT_LOST] = "LOST",
		[LEASH_EVENT_ABANDONED] = "ABANDONED", [LEASH_EVENT_CLOCK_JUMP] = "CLOCK_JUMP",
		[LEASH_EVENT_FENCE_REGRESSION] = "FENCE_REGRESSION",
		[LEASH_EVENT_NOT_RELEASED] = "NOT_RELEASED",
	};

	return (size_t)type < sizeof names / sizeof *names && names[type] != NULL ? names[type] : "?";
}

const char *
leash_version(void)
{
	return LEASH_VERSION;
}
