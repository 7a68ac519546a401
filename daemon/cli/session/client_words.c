#include "cli/session/client_words.h"

#include "json/jenc.h"

#include <errno.h>

void client_cancel(struct daemon_link *l, const char *session_id)
{
	_cleanup_(buf_done) struct buf b = { 0 }, p = { 0 };
	struct jw w = JW(&p);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", session_id);
	jw_end_obj(&w);
	rpc_put_notification(&b, "session/cancel", buf_slice(&p));
	daemon_link_send(l, buf_slice(&b));
}

void client_refuse(struct daemon_link *l, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e;

	rpc_no_method(m, &e);
	rpc_put_error(&b, m->id, &e, SLICE_NONE);
	daemon_link_send(l, buf_slice(&b));
}

void client_permit(struct daemon_link *l, const struct rpc_msg *m, struct slice chosen)
{
	_cleanup_(buf_done) struct buf b = { 0 }, line = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_obj(&w, "outcome");
	jw_str(&w, "outcome", chosen.n ? "selected" : "cancelled");
	jw_raw(&w, "optionId", chosen);
	jw_end_obj(&w);
	jw_end_obj(&w);
	rpc_put_result(&line, m->id, buf_slice(&b));
	daemon_link_send(l, buf_slice(&line));
}
