/*
 * upstream_rig.h - an upstream between a caller and a server that are both the test: what is sent to the server is kept as lines, what the
 * server says is fed in as text, and what callers are told is kept by the call.
 */
#pragma once

#include "unit.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "tools/upstream/upstream.h"

#include <poll.h>

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define META_WITH(caps, more)                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":" caps more "}"

/* What a caller got, as text: "~ METHOD PARAMS\n" for each notification, and at last "= RESULT" or "! ERROR". */
struct told {
	struct buf text;
	bool done;
	struct mcp_call *call;
};

extern struct loop *ups_loop;

void told_note(void *ctx, const char *method, struct slice params);
void told_done(void *ctx, struct slice result, struct slice error);
extern const struct mcp_reply_ops told_ops;

static inline void told_call(struct told *t, struct mcp_backend *b, const char *method,
			     const char *params)
{
	*t = (struct told){ 0 };
	t->call = mcp_backend_call(b, method, slice_of(params), &told_ops, t);
	assert_false(t->done); /* never from inside */
}

/* Until *flag; gives up after half a minute, which valgrind may need. */
void ups_until(const bool *flag);
/* So many milliseconds of the loop's life. */
void ups_run(unsigned ms);

/* --- a server of the test's --------------------------------------------------------------------------------- */

extern struct upstream *ups;
extern struct buf ups_sent; /* one message a line */
extern bool ups_up;
extern struct err ups_refused;

int ups_setup(void **state);
int ups_teardown(void **state);
/* A server that is up. */
void ups_modern(void);
void ups_legacy(const char *capabilities);
void ups_feed(const char *text);
void ups_feed_from(uint32_t origin, const char *text);
/* All that was sent since the last look is exactly this. */
#define ups_expect(want)                                                                           \
	do {                                                                                       \
		assert_buf(&ups_sent, want);                                                       \
		buf_reset(&ups_sent);                                                              \
	} while (0)
