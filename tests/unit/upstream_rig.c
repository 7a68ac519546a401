#include "upstream_rig.h"

struct loop *ups_loop;
struct upstream *ups;
struct buf ups_sent;
bool ups_up;
struct err ups_refused;

/* --- callers ---------------------------------------------------------------------------------------------- */

void told_note(void *ctx, const char *method, struct slice params)
{
	struct told *t = ctx;

	assert_false(t->done);
	buf_printf(&t->text, "~ %s ", method);
	buf_add_slice(&t->text, params);
	buf_putc(&t->text, '\n');
}

void told_done(void *ctx, struct slice result, struct slice error)
{
	struct told *t = ctx;

	assert_false(t->done);
	assert_true((result.n == 0) != (error.n == 0));
	t->done = true;
	buf_puts(&t->text, result.n ? "= " : "! ");
	buf_add_slice(&t->text, result.n ? result : error);
}

const struct mcp_reply_ops told_ops = { .notify = told_note, .done = told_done };

void ups_until(const bool *flag)
{
	uint64_t end = clock_mono_ms() + 30000;

	while (!*flag && clock_mono_ms() < end) {
		struct pollfd p = { loop_fd(ups_loop), POLLIN, 0 };

		loop_run_deferred(ups_loop);
		poll(&p, 1, *flag ? 0 : 20);
		loop_dispatch(ups_loop);
	}
	assert_true(*flag);
}

void ups_run(unsigned ms)
{
	uint64_t end = clock_mono_ms() + ms;

	do {
		struct pollfd p = { loop_fd(ups_loop), POLLIN, 0 };

		poll(&p, 1, ms ? 5 : 0);
		loop_dispatch(ups_loop);
	} while (clock_mono_ms() < end);
}

/* --- the server ------------------------------------------------------------------------------------------- */

static int on_send(void *wire, const struct upstream_rpc_out *out)
{
	assert_null(wire);
	assert_null(memchr(out->text.p, '\n', out->text.n));
	buf_add_slice(&ups_sent, out->text);
	buf_putc(&ups_sent, '\n');
	return 0;
}

static void on_refused(struct upstream *u, const struct err *why)
{
	assert_ptr_equal(u, ups);
	ups_refused = *why;
	upstream_end(ups, why);
}

static void on_free(struct upstream *u _unused_)
{
}

static const struct upstream_transport transport = { .refused = on_refused, .free = on_free };

static void on_up(void *ctx _unused_, const struct mcp_server_info *info _unused_)
{
	ups_up = true;
}

static const struct mcp_server_events events = { .up = on_up };

int ups_setup(void **state _unused_)
{
	ups_loop = loop_new();
	ups = new0(struct upstream);
	*ups = (struct upstream){ .loop = ups_loop,
				  .name = "fake",
				  .events = &events,
				  .transport = &transport,
				  .start_ms = 5000,
				  .rpc = { .send = on_send } };
	upstream_init(ups);
	ups_up = false;
	ups_refused = (struct err){ 0 };
	return 0;
}

int ups_teardown(void **state _unused_)
{
	upstream_done(ups);
	loop_run_deferred(ups_loop);
	ups_loop = loop_free(ups_loop);
	free(ups);
	buf_done(&ups_sent);
	return 0;
}

void ups_feed_from(uint32_t origin, const char *text)
{
	struct slice s = exact_copy(slice_of(text));

	assert_int_equal(upstream_rpc_feed(&ups->rpc, origin, s), 0);
	slice_freep(&s);
	loop_run_deferred(ups_loop);
}

void ups_feed(const char *text)
{
	ups_feed_from(0, text);
}

void ups_modern(void)
{
	upstream_begin(ups);
	ups_feed("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","
		 "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}}");
	assert_true(ups_up);
	buf_reset(&ups_sent);
}

void ups_legacy(const char *capabilities)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	ups->legacy_first = true;
	upstream_begin(ups);
	buf_printf(&b,
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\","
		   "\"capabilities\":%s,\"serverInfo\":{\"name\":\"old\",\"version\":\"1\"},"
		   "\"instructions\":\"do\\u00e9\"}}",
		   capabilities);
	buf_putc(&b, '\0');
	ups_feed(b.data);
	assert_true(ups_up);
	buf_reset(&ups_sent);
}
