/*
 * policy_path.c - the globs of a policy: which paths may be read and written.
 *
 * Callers give paths whose links are resolved: a path is judged by where it is, not by how it was reached. It is made
 * canonical first, so that "a//b" and "a/./b" meet the same globs; one that climbs by ".." is denied without looking
 * at any glob. A glob that matches a directory covers all in it, so each parent of the path is tried, too.
 */
#include "policy/policy_internal.h"

#include "tree/glob.h"

/* Makes a/b of ./a//b/. False: it leaves its root, or is absolute. */
static bool path_clean(const char *path, struct buf *out)
{
	if (path[0] == '/')
		return false;
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			return false;
		if (n && !(n == 1 && path[0] == '.')) {
			if (buf_len(out))
				buf_putc(out, '/');
			buf_add(out, path, n);
		}
		path += n;
		path += strspn(path, "/");
	}
	return !out->failed;
}

static struct slice glob_body(const char *glob, bool *anchored)
{
	struct slice s = slice_of(glob);

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	/* Before a leading "/" or "./" is taken off: it anchors the glob, too. */
	*anchored = memchr(s.p, '/', s.n) != NULL;
	slice_skip(&s, "./");
	slice_skip(&s, "/");
	return s.n ? s : SLICE("."); /* the root */
}

/* One glob and one path, or a directory that leads to it. */
static bool glob_covers(const char *glob, struct slice path)
{
	bool anchored;
	struct slice s = glob_body(glob, &anchored);
	size_t from = 0;

	/* The root itself: only a glob for all or for the root covers it. */
	if (!path.n)
		return slice_is(s, "**") || slice_is(s, ".");
	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		if (anchored ? glob_match(s, (struct slice){ path.p, i }, true) :
			       glob_match(s, (struct slice){ path.p + from, i - from }, true))
			return true;
		/* An unanchored glob is compared with each name alone, an anchored one with the path so far. */
		from = i + 1;
	}
	return slice_is(s, "."); /* the root, and all in it */
}

/* The first of them that covers it; -1: none. */
static ssize_t globs_find(const struct policy_globs *g, struct slice path)
{
	for (size_t i = 0; i < g->n; i++)
		if (glob_covers(g->v[i], path))
			return (ssize_t)i;
	return -1;
}

static const struct policy_globs *globs_for(const struct policy *p, enum policy_access access)
{
	return access == POLICY_READ ? &p->read : &p->write;
}

static enum policy_verdict path_denied(const char *path, ssize_t rule, struct policy_reason *why,
				       struct err *e)
{
	if (rule >= 0)
		policy_reason_set(why, "policy.deny[%zd]", rule);
	err_set(e, -EACCES, RPC_INVALID_PARAMS, "PATH_DENIED",
		"the policy denies every access to %s", path);
	return POLICY_DENY;
}

static enum policy_verdict path_left_out(const char *path, enum policy_access access,
					 struct policy_reason *why, struct err *e)
{
	const char *does = access == POLICY_READ ? "read" : "write";

	policy_reason_set(why, "policy.%s", does);
	err_set(e, -EACCES, RPC_INVALID_PARAMS, "PATH_NOT_ALLOWED",
		"the policy's %s globs leave out %s", does, path);
	return POLICY_DENY;
}

/* Deny comes first: it wins over read and write. */
static enum policy_verdict path_judge(const struct policy *p, const char *path,
				      enum policy_access access, bool outside,
				      struct policy_reason *why, struct err *e)
{
	_cleanup_(buf_done) struct buf clean = { 0 };
	const char *judged = outside ? path + strspn(path, "/") : path;
	const struct policy_globs *g;
	ssize_t denied = -1;

	policy_reason_clear(why);
	if (!p)
		return POLICY_ALLOW;
	if (!path_clean(judged, &clean) || (denied = globs_find(&p->deny, buf_slice(&clean))) >= 0)
		return path_denied(path, denied, why, e);
	g = globs_for(p, access);
	/* Globs are relative to the root, so they cannot allow what is outside. */
	if (!g->given || (!outside && globs_find(g, buf_slice(&clean)) >= 0))
		return POLICY_ALLOW;
	return path_left_out(path, access, why, e);
}

enum policy_verdict policy_path(const struct policy *p, const char *path, enum policy_access access,
				struct policy_reason *why, struct err *e)
{
	return path_judge(p, path, access, false, why, e);
}

enum policy_verdict policy_path_outside(const struct policy *p, const char *path,
					enum policy_access access, struct policy_reason *why,
					struct err *e)
{
	return path_judge(p, path, access, true, why, e);
}

bool policy_has_globs(const struct policy *p, enum policy_access access)
{
	return p && (p->deny.n || globs_for(p, access)->given);
}

/* True if dir could be the beginning of a path that a glob with slashes matches. */
static bool glob_reaches(const char *glob, struct slice dir)
{
	bool anchored;
	struct slice s = glob_body(glob, &anchored), d, g;

	if (!anchored || !dir.n)
		return true;
	while (slice_item(&dir, '/', &d) && slice_item(&s, '/', &g)) {
		if (slice_is(g, "**"))
			return true;
		if (!glob_match(g, d, true))
			return false;
	}
	return true;
}

bool policy_path_within(const struct policy *p, const char *dir, enum policy_access access)
{
	_cleanup_(buf_done) struct buf clean = { 0 };
	const struct policy_globs *g;

	if (!p)
		return true;
	if (!path_clean(dir, &clean) || globs_find(&p->deny, buf_slice(&clean)) >= 0)
		return false;
	g = globs_for(p, access);
	if (!g->given)
		return true;
	for (size_t i = 0; i < g->n; i++)
		if (glob_reaches(g->v[i], buf_slice(&clean)))
			return true;
	return false;
}
