/*
 * unit.h - what all unit tests share: cmocka behind the headers it needs, text as expectation, a scratch directory.
 *
 * Input under test is handed over as an exact heap copy (exact_copy), so that the sanitizers and valgrind see a read of
 * even one byte too many. Tables of cases name the failing row by its index and text.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define RUN(tests, setup, teardown) cmocka_run_group_tests(tests, setup, teardown)

/* A copy with no byte behind it; the caller frees .p. */
static inline struct slice exact_copy(struct slice s)
{
	char *p = malloc(s.n ? s.n : 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	return (struct slice){ p, s.n };
}

static inline void slice_freep(struct slice *s)
{
	free((void *)(uintptr_t)s->p);
}

static inline void check_text(struct slice got, const char *want, const char *file, int line)
{
	if (slice_is(got, want))
		return;
	print_error("%s:%d:\n  want: %s\n  got:  %.*s\n", file, line, want, (int)got.n, got.p);
	_fail(file, line);
}

/* The bytes of a slice are exactly this text. */
#define assert_text(slice, want) check_text(slice, want, __FILE__, __LINE__)
#define assert_buf(buffer, want) check_text(buf_slice(buffer), want, __FILE__, __LINE__)
/* A row of a table of cases is wrong. */
#define fail_row(i, text) fail_msg("row %zu: %s", (size_t)(i), text)

/* The step of a loop over many like cases: 1, or under valgrind this one. There a check costs fifty times as much, and what it
 * looks for shows in a part of them. */
static inline unsigned stride(unsigned under_valgrind)
{
	return getenv("UNIT_STRIDES") ? under_valgrind : 1;
}

/* The same for a sanitizer's build, in the files of NOT_VALGRIND (unit.mk), which make test runs with the release build too. */
static inline unsigned stride_san(unsigned under_sanitizers)
{
#ifdef __SANITIZE_ADDRESS__
	return under_sanitizers;
#else
	(void)under_sanitizers;
	return 1;
#endif
}

/* A directory of this test, empty; scratch_done removes it. */
const char *scratch_dir(void);
/* A path in it, overwritten by the second call after. */
const char *scratch_path(const char *name);
void scratch_write(const char *name, const void *p, size_t n);
int scratch_setup(void **state);
/* The same in memory, where there is such a file system: for tests that make a thousand trees. */
int scratch_setup_memory(void **state);
/* The same not in memory, where nothing is ever synced; Debian 13 has /tmp there. */
int scratch_setup_disk(void **state);
int scratch_done(void **state);
