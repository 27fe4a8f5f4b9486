/* The names of numbers: of statuses and events, and of this version. */
#include <leash/event.h>
#include <leash/status.h>
#include <leash/version.h>

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
	switch (type) { /* no default: the compiler tells when an event is added to the header and not here */
	case LEASH_EVENT_JEOPARDY:
		return "JEOPARDY";
	case LEASH_EVENT_RECOVERED:
		return "RECOVERED";
	case LEASH_EVENT_LOST:
		return "LOST";
	case LEASH_EVENT_ABANDONED:
		return "ABANDONED";
	case LEASH_EVENT_CLOCK_JUMP:
		return "CLOCK_JUMP";
	case LEASH_EVENT_FENCE_REGRESSION:
		return "FENCE_REGRESSION";
	}
	return "?";
}

const char *
leash_version(void)
{
	return LEASH_VERSION;
}
