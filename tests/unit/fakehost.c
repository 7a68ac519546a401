#include "fakehost.h"

#include "base/util.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

static void put_slice(struct buf *b, const char *name, struct slice s)
{
	if (!s.n)
		return;
	buf_puts(b, name);
	buf_add_slice(b, s);
}

static void put_caps(struct buf *b, const struct harness_caps *c)
{
	buf_puts(b, " caps=");
	buf_puts(b, c->image ? "image," : "");
	buf_puts(b, c->audio ? "audio," : "");
	buf_puts(b, c->embedded_context ? "context," : "");
	buf_puts(b, c->http ? "http," : "");
	buf_puts(b, c->sse ? "sse," : "");
	buf_puts(b, c->additional_dirs ? "dirs," : "");
	buf_puts(b, c->restore ? "restore," : "");
}

/* A name that the peer chose: the log stays one line for each call. */
static void put_name(struct buf *b, const char *s)
{
	for (; s && *s; s++)
		buf_putc(b, *s == '\n' ? ' ' : *s);
}

static int on_send(void *ctx, struct slice line)
{
	struct fake *f = ctx;

	if (f->send_result < 0)
		return f->send_result;
	put_slice(&f->log, "send ", line);
	buf_putc(&f->log, '\n');
	return 0;
}

static void on_ready(void *ctx, const struct harness_ready *r)
{
	struct fake *f = ctx;

	f->readies++;
	buf_puts(&f->log, "ready ");
	put_name(&f->log, r->native_id);
	buf_printf(&f->log, " restored=%d", r->restored);
	put_caps(&f->log, &r->caps);
	put_slice(&f->log, " modes=", r->modes);
	put_slice(&f->log, " options=", r->config_options);
	buf_putc(&f->log, '\n');
}

static void on_failed(void *ctx, const struct err *e)
{
	struct fake *f = ctx;

	f->failures++;
	buf_printf(&f->log, "failed %d %s %s\n", e->rpc, e->reason, e->msg);
}

static void on_event(void *ctx, const struct harness_event *ev)
{
	_cleanup_(buf_done) struct buf mended = { 0 };
	struct fake *f = ctx;
	struct jval id;
	/* as the core does: what does not fit ACP's schema, and cannot be mended, reaches nobody */
	enum harness_check r = harness_update_check(ev->kind, ev->update, &mended, &id);

	/* which the core believes */
	if (ev->fits && (r != CHECK_FITS || id.type != ev->id.type || id.raw.p != ev->id.raw.p))
		abort();
	if (r == CHECK_REFUSED)
		return;
	buf_printf(&f->log, "event %s", harness_update_name(ev->kind));
	put_slice(&f->log, " ", ev->update);
	put_slice(&f->log, " meta=", ev->meta);
	buf_putc(&f->log, '\n');
}

static void on_unknown(void *ctx, struct slice update)
{
	struct fake *f = ctx;

	put_slice(&f->log, "unknown ", update);
	buf_putc(&f->log, '\n');
}

static void on_ask(void *ctx, const struct harness_ask *ask)
{
	struct fake *f = ctx;

	f->asks++;
	buf_printf(&f->log, "ask %llu %s %s%s", (unsigned long long)ask->id,
		   ask->elicitation ? "elicitation" : "permission",
		   ask->approved ? "approved " : "", ask->wide ? "wide " : "");
	put_slice(&f->log, "", ask->params);
	buf_putc(&f->log, '\n');
	if (f->answer_at_once)
		f->ops->answer(f->h, ask->id, slice_of(f->answer_at_once));
}

static void on_unask(void *ctx, uint64_t ask_id)
{
	struct fake *f = ctx;

	buf_printf(&f->log, "unask %llu\n", (unsigned long long)ask_id);
}

static void on_turn_end(void *ctx, const struct harness_turn_end *end)
{
	struct fake *f = ctx;

	f->ends++;
	if (end->failed) {
		buf_printf(&f->log, "end failed %s %d retryable=%d %s\n", end->error.cls,
			   end->error.http_status, end->error.retryable, end->error.message);
		return;
	}
	buf_printf(&f->log, "end %s\n", end->stop_reason);
}

static void on_usage(void *ctx, const struct harness_usage *u)
{
	static const char *const names[COUNT_MAX] = { "input",	     "output",	  "cache_read",
						      "cache_write", "reasoning", "total" };
	struct fake *f = ctx;

	buf_printf(&f->log, "usage %s", u->whole_turn ? "turn" : "call");
	for (size_t i = 0; i < COUNT_MAX; i++)
		if (u->has & (1u << i))
			buf_printf(&f->log, " %s=%llu", names[i], (unsigned long long)u->count[i]);
	if (u->has_cost)
		buf_printf(&f->log, " cost=%lld", (long long)u->cost);
	if (u->model) {
		buf_puts(&f->log, " model=");
		put_name(&f->log, u->model);
	}
	buf_putc(&f->log, '\n');
}

static void on_timer(void *ctx, unsigned ms)
{
	struct fake *f = ctx;

	buf_printf(&f->log, "timer %u\n", ms);
}

static unsigned on_rules(void *ctx)
{
	const struct fake *f = ctx;

	return f->rules;
}

static void on_reply(void *ctx, uint64_t token, struct slice result, const struct err *e)
{
	struct fake *f = ctx;

	buf_printf(&f->log, "reply %llu ", (unsigned long long)token);
	if (e)
		buf_printf(&f->log, "error %d %s", e->rpc, e->msg);
	put_slice(&f->log, "", result);
	buf_putc(&f->log, '\n');
}

static const struct harness_host_ops fake_ops = { on_send,     on_ready, on_failed, on_event,
						  on_unknown,  on_ask,	 on_unask,  on_usage,
						  on_turn_end, on_reply, on_rules,  on_timer };

struct harness_req fake_request(void)
{
	return (struct harness_req){ .mode = HARNESS_NEW, .cwd = "/ws", .home = "/home/agent" };
}

int fake_open(struct fake *f, const struct harness_ops *ops, const struct harness_req *req)
{
	static char id[] = "test", command[] = "agent";
	const struct harness_def def = { .id = id, .command = command, .quirks = f->quirks };
	const struct harness_host host = { &fake_ops, f };
	struct harness_req fresh = fake_request();

	f->ops = ops;
	f->h = ops->open(&def, req ? req : &fresh, &host);
	return ops->start(f->h, &f->err);
}

void fake_close(struct fake *f)
{
	if (f->h)
		f->h = f->ops->free(f->h);
	buf_done(&f->log);
	memset(f, 0, sizeof(*f));
}

/* From memory of its own size, so that a read past its end is seen. */
static int feed(struct fake *f, struct slice line)
{
	_cleanup_(freep) char *copy = malloc(line.n ? line.n : 1);

	if (line.n)
		memcpy(copy, line.p, line.n);
	return f->ops->on_line(f->h, (struct slice){ copy, line.n }, &f->err);
}

int fake_line(struct fake *f, struct slice line)
{
	_cleanup_(buf_done) struct buf repaired = { 0 };
	int r = feed(f, line);

	/* as the core does */
	return r == -EILSEQ && jstr_repair(line, &repaired) ? feed(f, buf_slice(&repaired)) : r;
}

int fake_prompt(struct fake *f, const char *content, const char *meta)
{
	return f->ops->prompt(f->h, slice_of(content), slice_of(meta), &f->err);
}

bool fake_ready(struct fake *f, const struct harness_ops *ops, const struct harness_req *req)
{
	bool ok =
		fake_open(f, ops, req) == 0 &&
		fake_line(
			f,
			SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}")) ==
			0 &&
		fake_line(
			f,
			SLICE("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"n1\"}}")) ==
			0;

	buf_reset(&f->log);
	return ok && f->readies == 1;
}
