/* The fields of structs by name: each list has all of its struct, in order, as the compiler lays it out. That no field
 * of the headers is missing in a list, install/man says. */
#include "tests/support/test.h"

#include <leash.h>

static const struct {
	const char *name;
	size_t size;
	const char *first, *last;
	size_t last_end; /* behind that there is what is reserved, or nothing */
} structs[] = {
#define STRUCT(type, first, last) {#type, sizeof(type), (first), #last, offsetof(type, last) + sizeof(((type *)0)->last)}
	STRUCT(leash_options, "size", open_cancel), STRUCT(leash_lock_options, "size", group),
	STRUCT(leash_acquire, "size", cancel), STRUCT(leash_condition_options, "size", reacquire_ms),
	STRUCT(leash_error, "status", text), STRUCT(leash_event, "size", permit), STRUCT(leash_party, "token", since_ms),
	STRUCT(leash_lock_info, "size", limit), STRUCT(leash_hold_info, "size", remaining_ms),
	STRUCT(leash_waiter_info, "size", limit), STRUCT(leash_stats, "size", listening),
	STRUCT(leash_leader, "size", value), STRUCT(leash_times, "size", max_ns), STRUCT(leash_script, "size", text),
};

/* The type says how many bytes it may have. */
static bool
is_possible(const leash_field *f)
{
	switch (f->type) {
	case LEASH_TYPE_SIGNED:
	case LEASH_TYPE_UNSIGNED:
		return f->size == 4 || f->size == 8;
	case LEASH_TYPE_BOOL:
		return f->size == 1;
	case LEASH_TYPE_CHARS:
		return f->size > 1;
	case LEASH_TYPE_TEXT:
	case LEASH_TYPE_POINTER:
		return f->size == sizeof(void *);
	case LEASH_TYPE_PARTY:
		return f->size == sizeof(leash_party);
	}
	return false;
}

SENTENCE(each_struct_is_told_from_its_first_field_to_its_last_without_a_gap)
{
	for (size_t i = 0; i < COUNT(structs); i++) {
		size_t size = 0, end = 0;
		const leash_field *f = leash_struct_fields(structs[i].name, &size);

		assert_non_null(f);
		assert_int_equal(size, structs[i].size);
		assert_string_equal(f->name, structs[i].first);
		for (; f->name != NULL; f++) {
			if (!is_possible(f) || f->offset < end || f->offset - end >= sizeof(int64_t) ||
			    (f->offset != end && f->size < sizeof(int32_t)))
				fail_msg("%s.%s: %zu bytes at %zu, behind %zu", structs[i].name, f->name, f->size, f->offset, end);
			end = f->offset + f->size;
		}
		assert_string_equal(f[-1].name, structs[i].last);
		assert_int_equal(end, structs[i].last_end);
	}
}

SENTENCE(a_struct_that_there_is_not_has_no_fields)
{
	size_t size = 7;

	assert_null(leash_struct_fields("leash_lock", &size));
	assert_null(leash_struct_fields("options", &size));
	assert_null(leash_struct_fields(NULL, &size));
	assert_int_equal(size, 7);
	assert_non_null(leash_struct_fields("leash_options", NULL));
}

/* What a binding does: options of which it knows nothing but names. */
SENTENCE(options_that_are_set_by_name_are_what_the_macro_makes)
{
	static const struct {
		const char *name;
		int64_t value;
	} set[] = {{"size", sizeof(leash_lock_options)}, {"lease_ms", 5000}, {"min_replicas", 2}, {"handoff_ms", 20}};
	leash_lock_options options;

	memset(&options, 0, sizeof options);
	for (size_t i = 0; i < COUNT(set); i++)
		for (const leash_field *f = leash_struct_fields("leash_lock_options", NULL); f->name != NULL; f++)
			if (strcmp(f->name, set[i].name) == 0)
				memcpy((char *)&options + f->offset, &set[i].value, f->size);
	assert_memory_equal(&options, LEASH_LOCK_OPTIONS(.lease_ms = 5000, .min_replicas = 2, .handoff_ms = 20),
	                    sizeof options);
}
