/* Which sanitizer a test runs under, for what a sanitizer cannot do:
 *
 *   ThreadSanitizer   ends a child of a process with threads that starts some of its own, lets nobody cancel asynchronously, and
 *                     keeps a signal from its handler until the thread calls something that it knows to block, futexes not among it
 *   AddressSanitizer  takes the stack of a thread that was canceled for one in use, looks for leaks in a child, at exit(), among the
 *                     threads that its parent had, and has an allocator that does not survive a fork amid calls of other threads */
#pragma once

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#elif __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
