/* adapter_session.h - what the tests of an adapter share: one session of it between fakehost.h's core and lines written by hand. */
#pragma once

#include "unit.h"

#include "fakehost.h"

static struct fake f;

static inline int session_teardown(void **state _unused_)
{
	fake_close(&f);
	return 0;
}

static inline void check_log(const char *want, const char *file, int line)
{
	check_text(buf_slice(&f.log), want, file, line);
	buf_reset(&f.log);
}

static inline bool logged(const char *text)
{
	return f.log.len && memmem(f.log.data, f.log.len, text, strlen(text));
}

/* The log so far is exactly this; it is empty after. */
#define assert_log(want) check_log(want, __FILE__, __LINE__)
/* A line of the program. */
#define feed(text) assert_int_equal(fake_line(&f, slice_of(text)), 0)
