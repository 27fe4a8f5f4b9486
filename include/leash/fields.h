/* The fields of leash's structs by name. With them, bindings in other languages need not repeat any layout.
 *
 *     size_t size;
 *     const leash_field *field = leash_struct_fields("leash_lock_options", &size);
 *
 *     for (; field != NULL && field->name != NULL; field++)
 *         declare(field->name, field->type, field->offset, field->size);
 *
 * A binding allocates `size` bytes of zeros, writes `size` into the field of that name, and then writes what its user
 * sets. A field that a later version adds is in the list of that version, and so in the binding, too. */
#ifndef LEASH_FIELDS_H
#define LEASH_FIELDS_H

#include <leash/api.h>

LEASH_BEGIN_DECLS

/** The type of a field. Its length in bytes is in `size`. */
typedef enum leash_type {
	LEASH_TYPE_SIGNED = 1,   /**< a signed integer, such as a time */
	LEASH_TYPE_UNSIGNED = 2, /**< an unsigned integer, such as a count or an enum */
	LEASH_TYPE_BOOL = 3,     /**< true or false, in one byte */
	LEASH_TYPE_CHARS = 4,    /**< the text itself, with its NUL */
	LEASH_TYPE_TEXT = 5,     /**< the address of a text; NULL means none */
	LEASH_TYPE_POINTER = 6,  /**< any other address, also of a function */
	LEASH_TYPE_PARTY = 7,    /**< a leash_party */
} leash_type;

/** A field. It is constant and never moves. */
typedef struct leash_field {
	const char *name; /**< as in the header; NULL marks the end of the list */
	size_t offset;    /**< in the struct, in bytes */
	size_t size;      /**< in bytes */
	leash_type type;
} leash_field;

/**
 * The fields of a struct, in the order of the header, except reserved ones.
 *
 * @param name  "leash_options", "leash_stats": any struct of the headers whose fields a program sets or reads, except
 *              leash_memory, leash_scope, and leash_field itself.
 * @param size  receives the size of the struct, in bytes; untouched if the result is NULL; may be NULL.
 *
 * @return the list, which ends with a field without a name; NULL if there is no such struct, or `name` is NULL.
 *
 * Threads: any; allowed in callbacks and in signal handlers. Since 0.1.
 */
LEASH_API const leash_field *leash_struct_fields(const char *name, size_t *size);

LEASH_END_DECLS

#endif
