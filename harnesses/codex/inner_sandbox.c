/* inner_sandbox.c - Codex's own sandbox, which holds the commands and patches of the model where the session asked for it. */
#include "harnesses/codex/internal.h"

/* Codex keeps .git of what it lets be written read-only, unless that is named by itself. */
static void put_root(struct jw *w, struct slice dir)
{
	_cleanup_(buf_done) struct buf git = { 0 };

	buf_printf(&git, "%.*s/.git", (int)dir.n, dir.p);
	jw_slice(w, NULL, dir);
	jw_slice(w, NULL, buf_slice(&git));
}

static void put_writable(const struct harness *h, struct jw *w)
{
	struct jiter it;
	struct jval v;

	jw_arr(w, "writableRoots");
	put_root(w, slice_of(h->cwd));
	if (h->additional_dirs &&
	    jiter_init(&it, (struct jval){ J_ARRAY, slice_of(h->additional_dirs) })) {
		while (jiter_next(&it, NULL, &v)) {
			_cleanup_(freep) char *dir = NULL;

			if (jstr_decode(v, PATH_LEN_MAX, &dir) == 0)
				put_root(w, slice_of(dir));
		}
	}
	jw_end_arr(w);
}

/* In plan mode nothing is to be written. */
static const char *type_of(const struct harness *h, const struct settings *s)
{
	if (!h->inner_sandbox)
		return "dangerFullAccess";
	return s->mode == MODE_PLAN ? "readOnly" : "workspaceWrite";
}

void codex_sandbox_put(const struct harness *h, const struct settings *s, struct jw *w)
{
	jw_obj(w, "sandboxPolicy");
	jw_str(w, "type", type_of(h, s));
	if (h->inner_sandbox && s->mode != MODE_PLAN)
		put_writable(h, w);
	if (h->inner_sandbox)
		jw_bool(w, "networkAccess", h->inner_network);
	jw_end_obj(w);
}
