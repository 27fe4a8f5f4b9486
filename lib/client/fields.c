/* What the structs of the headers consist of. A test compares the lists with the headers' own. */
#include <leash.h>

#include <string.h>

#define TYPE_OF(lvalue) \
	_Generic((lvalue), bool: LEASH_TYPE_BOOL, int: LEASH_TYPE_SIGNED, int64_t: LEASH_TYPE_SIGNED, \
	         uint32_t: LEASH_TYPE_UNSIGNED, uint64_t: LEASH_TYPE_UNSIGNED, \
	         char *: LEASH_TYPE_CHARS, const char *: LEASH_TYPE_TEXT, leash_party: LEASH_TYPE_PARTY, \
	         default: LEASH_TYPE_POINTER)
#define FIELD(owner, field) \
	{#field, offsetof(owner, field), sizeof(((owner *)0)->field), TYPE_OF(((owner *)0)->field)}
#define END {NULL, 0, 0, (leash_type)0}

#define F(field) FIELD(STRUCT, field)

#define STRUCT leash_options
static const leash_field options[] = {
	F(size), F(uri), F(lease_ms), F(timeout_ms), F(prefix), F(client_name), F(on_event), F(event_arg), F(on_log),
	F(log_arg), F(fence_ttl_ms), F(open_wait_ms), F(open_cancel), END,
};
#undef STRUCT

#define STRUCT leash_lock_options
static const leash_field lock_options[] = {
	F(size), F(lease_ms), F(on_event), F(event_arg), F(max_hold_ms), F(alive_ms), F(restart_guard_ms), F(no_renew),
	F(fair), F(no_handoff), F(fsynced), F(release_nowait), F(mode), F(handoffs), F(handoff_ms), F(owner),
	F(min_replicas), F(replicas_ms), F(on_lost), F(group), END,
};
#undef STRUCT

#define STRUCT leash_acquire
static const leash_field acquire[] = {F(size), F(wait_ms), F(lease_ms), F(cancel), END};
#undef STRUCT

#define STRUCT leash_condition_options
static const leash_field condition_options[] = {F(size), F(recheck_ms), F(reacquire_ms), END};
#undef STRUCT

#define STRUCT leash_error
static const leash_field error[] = {F(status), F(sys_errno), F(text), END};
#undef STRUCT

#define STRUCT leash_event
static const leash_field event[] = {
	F(size), F(lock), F(fence), F(remaining_ms), F(text), F(type), F(permit), END,
};
#undef STRUCT

#define STRUCT leash_party
static const leash_field party[] = {F(token), F(host), F(program), F(pid), F(since_ms), END};
#undef STRUCT

#define STRUCT leash_lock_info
static const leash_field lock_info[] = {
	F(size), F(name), F(holder), F(fence), F(held_since_ms), F(remaining_ms), F(depth), F(waiting), F(held),
	F(no_queue), F(kind), F(out), F(count), F(permits), F(limit), END,
};
#undef STRUCT

#define STRUCT leash_hold_info
static const leash_field hold_info[] = {F(size), F(who), F(count), F(limit), F(remaining_ms), END};
#undef STRUCT

#define STRUCT leash_waiter_info
static const leash_field waiter_info[] = {
	F(size), F(who), F(waiting_since_ms), F(position), F(count), F(limit), END,
};
#undef STRUCT

#define STRUCT leash_stats
static const leash_field stats[] = {
	F(size), F(acquired), F(handed_on), F(waited), F(released), F(lost), F(abandoned), F(renewed),
	F(renewals_failed), F(gave_up), F(commands), F(connects), F(holding), F(waiting), F(server_ahead_ms),
	F(connected), F(listening), END,
};
#undef STRUCT

#define STRUCT leash_times
static const leash_field times[] = {
	F(size), F(count), F(sum_ns), F(p50_ns), F(p90_ns), F(p99_ns), F(p999_ns), F(max_ns), END,
};
#undef STRUCT

#define STRUCT leash_leader
static const leash_field leader[] = {F(size), F(leads), F(token), F(fence), F(remaining_ms), F(value), END};
#undef STRUCT

#define STRUCT leash_script
static const leash_field script[] = {F(size), F(name), F(sha1), F(text), END};
#undef STRUCT

static const struct {
	const char *name;
	size_t size;
	const leash_field *fields;
} structs[] = {
	{"leash_options", sizeof(leash_options), options},
	{"leash_lock_options", sizeof(leash_lock_options), lock_options},
	{"leash_acquire", sizeof(leash_acquire), acquire},
	{"leash_condition_options", sizeof(leash_condition_options), condition_options},
	{"leash_error", sizeof(leash_error), error},
	{"leash_event", sizeof(leash_event), event},
	{"leash_party", sizeof(leash_party), party},
	{"leash_lock_info", sizeof(leash_lock_info), lock_info},
	{"leash_hold_info", sizeof(leash_hold_info), hold_info},
	{"leash_waiter_info", sizeof(leash_waiter_info), waiter_info},
	{"leash_stats", sizeof(leash_stats), stats},
	{"leash_times", sizeof(leash_times), times},
	{"leash_leader", sizeof(leash_leader), leader},
	{"leash_script", sizeof(leash_script), script},
};

const leash_field *
leash_struct_fields(const char *name, size_t *size)
{
	for (size_t i = 0; i < sizeof structs / sizeof *structs && name != NULL; i++) {
		if (strcmp(structs[i].name, name) != 0)
			continue;
		if (size != NULL)
			*size = structs[i].size;
		return structs[i].fields;
	}
	return NULL;
}
