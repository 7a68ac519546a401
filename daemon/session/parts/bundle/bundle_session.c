/* bundle_session.c - session.json of a bundle: what a session is, and what it was set up with, without secrets. */
#include "session/parts/bundle/bundle_internal.h"

#include "json/jenc.h"
#include "session/core/session_host.h"
#include "session/parts/workspace/artifact_store.h"

static bool put_artifact(void *ctx, const struct artifact *a)
{
	artifact_describe(ctx, NULL, a);
	return true;
}

/* state: a digest of all that differs from the baseline. */
static void put_workspace(struct session *s, struct slice report, struct jw *w)
{
	struct slice written = session_provisioned(s);

	jw_obj(w, "workspace");
	jw_bool(w, "baseline", s->setup.baseline);
	if (written.n)
		jw_members(w, written, NULL);
	jw_raw(w, "state", jobj_get(report, "state").raw);
	jw_raw(w, "changesTotal", jobj_get(report, "changesTotal").raw);
	jw_raw(w, "patch", jobj_get(report, "patch").raw);
	jw_raw(w, "omittedTotal", jobj_get(report, "omittedTotal").raw);
	jw_end_obj(w);
}

void bundle_put_session(struct session *s, struct slice report, struct buf *b)
{
	_cleanup_(buf_done) struct buf status = { 0 };
	struct jw in = JW(&status), w = JW(b);

	session_put_status(&in, NULL, s);
	jw_obj(&w, NULL);
	jw_members(&w, buf_slice(&status), NULL);
	jw_str(&w, "incarnation", s->store->incarnation);
	jw_str(&w, "harnessVersion", s->harness.version);
	jw_obj(&w, "settings");
	setup_put(&s->setup, &w);
	jw_end_obj(&w);
	put_workspace(s, report, &w);
	jw_arr(&w, "artifacts");
	artifact_each(s, put_artifact, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
	session_mask_bytes(s, b);
}
