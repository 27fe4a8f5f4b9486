/* What every part of the interface needs: linkage, attributes, and the macro that makes structs of options. */
#ifndef LEASH_API_H
#define LEASH_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LEASH_API __attribute__((visibility("default")))
#define LEASH_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LEASH_API
#define LEASH_MUST_CHECK
#endif

#ifdef __cplusplus
#define LEASH_BEGIN_DECLS extern "C" {
#define LEASH_END_DECLS }
#else
#define LEASH_BEGIN_DECLS
#define LEASH_END_DECLS
#endif

/* LEASH_STRUCT_(type, .field = value, ...) is what LEASH_OPTIONS() and the like are made of. It yields the address of a
 * constant `type` whose size field is set and whose other fields are zero. The struct lives until the end of the
 * enclosing block (C), or of the full expression (C++). That is long enough for a call that takes it as an argument. Do
 * not keep the address in a variable: in C++ it would dangle at once. To keep options, copy them:
 *
 *     leash_options kept = *LEASH_OPTIONS(.uri = "redis://cache", .lease_ms = 10000);
 *     status = leash_open(&client, &kept, &err);
 *
 * In C++, name the fields in the order of the struct, each once; in C, in any order. */
#ifdef __cplusplus
#ifdef __GNUC__
/* g++ -Wextra warns about each field that a designated initializer leaves out, which is the point of them here */
#pragma GCC system_header
#endif
extern "C++" {
template <class T> inline const T *leash_addr_(const T &object) { return &object; }
}
#define LEASH_STRUCT_(type, ...) leash_addr_(type{.size = sizeof(type) __VA_OPT__(, ) __VA_ARGS__})
#else
#define LEASH_STRUCT_(type, ...) (&(const type){.size = sizeof(type), __VA_ARGS__})
#endif

/** A wait without limit. It is the smallest number that there is, so no arithmetic on deadlines yields it by
 * accident. */
#define LEASH_FOREVER INT64_MIN

#endif
