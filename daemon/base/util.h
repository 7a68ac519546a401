/*
 * util.h - the few macros that everything else uses, and arrays; with the headers of libc that nearly every file needs, so
 * that no other file that has this one includes them.
 *
 * Ownership is visible in the text: a local that owns something is marked _cleanup_(...), and code that passes it on
 * writes TAKE_PTR / TAKE_FD. Small fixed allocations abort when memory is gone (x*alloc); sizes that a
 * peer chooses go through base/buf.h, which has a maximum and returns an error instead.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))
#define _noreturn_ __attribute__((noreturn))

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) _taken = (p);                                                        \
		(p) = NULL;                                                                        \
		_taken;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int _taken = (fd);                                                                 \
		(fd) = -1;                                                                         \
		_taken;                                                                            \
	})

/* A system call, again until no signal interrupts it. TEMP_FAILURE_RETRY of the C library makes a long of every result. */
#ifdef __cppcheck__ /* which follows no statement expressions */
#define RETRY(call) (call)
#else
#define RETRY(call)                                                                                \
	({                                                                                         \
		__typeof__(call) _result;                                                          \
		do                                                                                 \
			_result = (call);                                                          \
		while (_result < 0 && errno == EINTR);                                             \
		_result;                                                                           \
	})
#endif

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* free() of each: free_each(a, b, c). */
#ifdef __cppcheck__
#define free_each(...) ((void)0)
#else
#define free_each(...)                                                                             \
	do {                                                                                       \
		void *const _each[] = { __VA_ARGS__ };                                             \
		for (size_t _i = 0; _i < ARRAY_SIZE(_each); _i++)                                  \
			free(_each[_i]);                                                           \
	} while (0)
#endif

static inline void *xalloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		abort();
	return p;
}

static inline char *xstrndup(const char *s, size_t n)
{
	char *p = xalloc(n + 1);

	if (n) /* an empty slice may have no bytes to point to */
		memcpy(p, s, n);
	return p;
}

static inline char *xstrdup(const char *s)
{
	return s ? xstrndup(s, strlen(s)) : NULL;
}

/* The formatted text, which the caller frees. */
char *xprintf(const char *fmt, ...) _printf_(1, 2);
/* The formatted text, in so many bytes of the block around it: longer text is cut off. */
#define SHORT_TEXT(size, ...) text_print((char[size]){ 0 }, size, __VA_ARGS__)
#define NUMBER_TEXT(n) SHORT_TEXT(24, "%lld", (long long)(n))
/* Returns out. */
char *text_print(char *out, size_t size, const char *fmt, ...) _printf_(3, 4);

/* Replaces an owned string by a copy of s (which may be NULL). */
static inline void xstrset(char **slot, const char *s)
{
	char *copy = xstrdup(s);

	free(*slot);
	*slot = copy;
}

/* Either may be NULL, which equals only NULL. */
static inline bool str_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

#define new0(type) ((type *)xalloc(sizeof(type)))

/* --- arrays ---------------------------------------------------------------------------------------------- */

/*
 * Returns the array with space for item n, which is all zeros. No capacity is stored next to its number: the array is
 * full when the number is a power of two. The owner frees it, and may lower its number at any time. Only this function
 * may allocate it. It is for contents that have a limit of the daemon's: without memory it aborts. Contents that a peer
 * can make as long as it likes go through base/buf.h.
 */
void *array_grow(void *array, size_t n, size_t size);

/* The place of one more item of v, zeroed; counts n up. */
#define GROW(v, n)                                                                                 \
	({                                                                                         \
		(v) = array_grow((v), (n), sizeof(*(v)));                                          \
		&(v)[(n)++];                                                                       \
	})
