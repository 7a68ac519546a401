/* talk.c - what all files of the adapter send by: calls to Codex, and updates to the core. */
#include "harnesses/codex/internal.h"

int codex_call(struct harness *h, const char *method, struct slice params, rpc_reply_fn fn,
	       uint64_t tag)
{
	return harness_call(&h->host, &h->calls, method, params, fn, h, tag);
}

int codex_request_of(struct harness *h, const char *method, const struct jw_member *params,
		     rpc_reply_fn fn, uint64_t tag)
{
	JW_BUF(w, b);

	jw_object_of(&w, NULL, params);
	return codex_call(h, method, buf_slice(&b), fn, tag);
}

void codex_event(struct harness *h, const struct buf *b)
{
	struct harness_event ev = { 0 };

	if (!b->failed && harness_event_from_update(buf_slice(b), &ev, NULL) == 0)
		h->host.ops->event(h->host.ctx, &ev);
}

void codex_emit_of(struct harness *h, enum harness_update kind, const struct jw_member *members)
{
	JW_BUF(w, b);

	harness_update_open(&w, kind);
	jw_put(&w, members);
	jw_end_obj(&w);
	codex_event(h, &b);
}

void codex_error_text(struct slice error, char *ret, size_t n)
{
	_cleanup_(freep) char *text = codex_shown(error, "message");

	snprintf(ret, n, "%s", text && *text ? text : "Codex reported an error without a message");
	err_flatten(ret);
}
