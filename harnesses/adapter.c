/*
 * adapter.c - what adapters do alike (adapter.h).
 *
 * Nothing here knows a program: each function is given the host, and the text or the update. What differs between programs
 * stays in their folders, even where it looks alike.
 */
#include "harnesses/adapter.h"

/* --- to the program ------------------------------------------------------------------------------------------ */

int harness_send(const struct harness_host *host, const struct buf *b)
{
	return b->failed ? -E2BIG : host->ops->send(host->ctx, buf_slice(b));
}

int harness_call(const struct harness_host *host, struct rpc_calls *calls, const char *method,
		 struct slice params, rpc_reply_fn fn, void *ctx, uint64_t tag)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint32_t id = rpc_calls_add(calls, fn, ctx, tag);
	int r;

	if (!id)
		return -EBUSY;
	rpc_put_request(&b, id, method, params);
	r = harness_send(host, &b);
	if (r < 0)
		/* Otherwise fn would be called when the calls are closed, for a call that the caller
		 * knows as failed. */
		rpc_calls_drop(calls, id);
	return r;
}

void harness_reply_ignored(void *ctx _unused_, uint64_t tag _unused_,
			   const struct rpc_msg *m _unused_)
{
}

int harness_line_parsed(const struct harness_host *host, enum rpc_parse_result parsed,
			const struct rpc_msg *m, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	/* the core repairs the text and gives the line again */
	if (m->repair && parsed == RPC_PARSED)
		return -EILSEQ;
	switch (parsed) {
	case RPC_PARSED:
		return HARNESS_MESSAGE;
	case RPC_E_IGNORE:
		return 0;
	/* An error answer without an id cannot be matched with a request, so the line counts as noise. */
	case RPC_E_ANSWER:
		if (slice_is(m->id, "null"))
			return HARNESS_NOT_A_MESSAGE;
		rpc_put_error(&b, m->id, e, SLICE_NONE);
		harness_send(host, &b);
		return 0;
	default:
		return HARNESS_NOT_A_MESSAGE;
	}
}

void harness_add_text(struct buf *b, struct jval v)
{
	if (v.type == J_STRING && jstr_decode_bytes(v, b) < 0)
		b->failed = true;
}

int harness_refuse_block(size_t i, struct err *e)
{
	const char *block = SHORT_TEXT(32, "prompt[%zu]", i);

	return err_field(e, block, "CONTENT_UNSUPPORTED",
			 "%s: cannot pass this block to the harness: its text is not Unicode",
			 block);
}

int harness_gone(int r, const char *program, struct err *e)
{
	return r < 0 ? err_set(e, r, RPC_INTERNAL_ERROR, "HARNESS_GONE", "%s takes no input",
			       program) :
		       0;
}

/* --- to the core --------------------------------------------------------------------------------------------- */

void harness_send_update(const struct harness_host *host, enum harness_update kind,
			 const struct buf *b)
{
	const struct harness_event ev = { .kind = kind, .update = buf_slice(b) };

	if (!b->failed)
		host->ops->event(host->ctx, &ev);
}

void harness_update_open(struct jw *w, enum harness_update kind)
{
	jw_obj(w, NULL);
	jw_str(w, "sessionUpdate", harness_update_name(kind));
}

void harness_emit_of(const struct harness_host *host, enum harness_update kind,
		     const struct jw_member *members)
{
	JW_BUF(w, b);

	harness_update_open(&w, kind);
	jw_put(&w, members);
	jw_end_obj(&w);
	harness_send_update(host, kind, &b);
}

void harness_put_text_part(struct jw *w, struct slice text)
{
	jw_object(w, NULL, JW_STR("type", "content"),
		  JW_OBJ("content", JW_STR("type", "text"), JW_RAW("text", text)));
}

void harness_usage_read(struct harness_usage *u, struct slice object, const struct usage_field *f,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		harness_usage_set(u, f[i].what, jobj_get(object, f[i].key));
}

void harness_refused(const struct harness_host *host, uint64_t token, int rpc, const char *text)
{
	struct err e;

	err_set(&e, -EIO, rpc, "HARNESS_REFUSED", "%s", text);
	host->ops->reply(host->ctx, token, SLICE_NONE, &e);
}

void harness_steered(const struct harness_host *host, uint64_t token, const struct rpc_msg *m)
{
	if (m)
		host->ops->reply(host->ctx, token,
				 m->error.n ? SLICE("{\"outcome\":\"failed\"}") :
					      SLICE("{\"outcome\":\"injected\"}"),
				 NULL);
}

/* --- config options ------------------------------------------------------------------------------------------- */

const char *const harness_approvals[APPROVAL_MAX] = {
	[APPROVAL_ASK] = "ask",
	[APPROVAL_ACCEPT_EDITS] = "accept-edits",
	[APPROVAL_NEVER] = "never",
};

int harness_approval_find(const char *word)
{
	for (int i = 0; i < APPROVAL_MAX; i++)
		if (strcmp(harness_approvals[i], word) == 0)
			return i;
	return -1;
}

void option_begin(struct jw *w, const char *id, const char *name, const char *category,
		  const char *current)
{
	jw_obj(w, NULL);
	jw_str(w, "id", id);
	jw_str(w, "name", name);
	jw_str(w, "category", category);
	jw_str(w, "type", "select");
	jw_str(w, "currentValue", current);
	jw_arr(w, "options");
}

void option_value(struct jw *w, const char *value, const char *name, const char *description)
{
	jw_object(w, NULL, JW_STR("value", value), JW_STR("name", name ? name : value),
		  JW_STR("description", description));
}

void option_end(struct jw *w)
{
	jw_end_arr(w);
	jw_end_obj(w);
}
