/*
 * agent_uids.c - the ledger of uids: one file <uid>.<holder> per session, mirrored in a list.
 *
 * A file exists before anything of the session does, and is unlinked last. A crash can leave a uid
 * reserved without a session, but never gives out a uid while files of its previous owner exist.
 * Lookups are linear: --agent-uids bounds the list. Of the free uids, the one freed longest ago is
 * chosen.
 */
#include "session/parts/users/agent_uids.h"

#include "base/limits.h"
#include "base/list.h"
#include "base/os/file.h"
#include "base/util.h"

#include <dirent.h>

/* One file. */
struct uid_claim {
	struct list link;
	uid_t uid;
	char *holder;
	struct buf trees;
};

struct agent_uids {
	struct uid_range range;
	char *dir;
	struct list claims;
	uint64_t *freed; /* when each of the range was given back: a count; 0: not in this life */
	uint64_t count;
};

/* --- the files -------------------------------------------------------------------------------------------- */

static char *claim_path(const struct agent_uids *u, const struct uid_claim *c)
{
	return xprintf("%s/%u.%s", u->dir, (unsigned)c->uid, c->holder);
}

static int claim_write(const struct agent_uids *u, const struct uid_claim *c, struct err *e)
{
	_cleanup_(freep) char *path = claim_path(u, c);
	int r = file_replace(path, c->trees.data ? c->trees.data : "", buf_len(&c->trees), 0600);

	if (r == 0)
		return 0;
	return err_set(e, r, RPC_INTERNAL_ERROR,
		       r == -ENOSPC || r == -EDQUOT ? "NO_SPACE" : "STATE_NOT_WRITABLE",
		       "cannot note the session's uid: %s", strerror(-r));
}

static struct uid_claim *claim_add(struct agent_uids *u, uid_t uid, const char *holder)
{
	struct uid_claim *c = new0(struct uid_claim);

	c->uid = uid;
	c->holder = xstrdup(holder);
	list_add_tail(&u->claims, &c->link);
	return c;
}

/* The file stays: only agent_uids_drop unlinks it. */
static void claim_free(struct uid_claim *c)
{
	list_del(&c->link);
	buf_done(&c->trees);
	free_each(c->holder, c);
}

/* Skips names that are not <uid>.<holder>. */
static void claim_read(struct agent_uids *u, const char *name)
{
	char *end;
	unsigned long uid = strtoul(name, &end, 10);
	_cleanup_(freep) char *path = NULL;
	struct uid_claim *c;

	if (end == name || uid == 0 || uid > AGENT_UID_MAX || *end != '.' || !end[1])
		return;
	c = claim_add(u, (uid_t)uid, end + 1);
	path = claim_path(u, c);
	file_read(path, AGENT_UID_TREES_MAX, &c->trees); /* without it there are none */
}

/* --- who has what ----------------------------------------------------------------------------------------- */

static struct uid_claim *claim_of(const struct agent_uids *u, const char *holder)
{
	list_each(c, (struct list *)&u->claims, struct uid_claim, link)
		if (strcmp(c->holder, holder) == 0)
			return c;
	return NULL;
}

/* The first of perhaps several: sessions on one tree share its uid. */
static struct uid_claim *claim_on(const struct agent_uids *u, uid_t uid)
{
	list_each(c, (struct list *)&u->claims, struct uid_claim, link)
		if (c->uid == uid)
			return c;
	return NULL;
}

bool agent_uids_of(const struct agent_uids *u, const char *holder, uid_t *ret)
{
	const struct uid_claim *c = claim_of(u, holder);

	if (c)
		*ret = c->uid;
	return c != NULL;
}

unsigned agent_uids_holders(const struct agent_uids *u, uid_t uid)
{
	unsigned n = 0;

	list_each(c, (struct list *)&u->claims, struct uid_claim, link)
		n += c->uid == uid;
	return n;
}

void agent_uids_trees(const struct agent_uids *u, uid_t uid, struct buf *ret)
{
	list_each(c, (struct list *)&u->claims, struct uid_claim, link)
		if (c->uid == uid)
			buf_add_slice(ret, buf_slice(&c->trees));
}

void agent_uids_each(struct agent_uids *u, void (*fn)(void *ctx, uid_t uid, const char *holder),
		     void *ctx)
{
	list_each(c, &u->claims, struct uid_claim, link)
		fn(ctx, c->uid, c->holder);
}

/* Which of the range are held, by their place in it; the caller frees. */
static bool *range_held(const struct agent_uids *u)
{
	bool *ret = xalloc((uid_range_size(&u->range) + 1) * sizeof(*ret));

	list_each(c, (struct list *)&u->claims, struct uid_claim, link)
		if (uid_range_has(&u->range, c->uid))
			ret[c->uid - u->range.first] = true;
	return ret;
}

unsigned agent_uids_free(const struct agent_uids *u)
{
	bool *taken = range_held(u);
	unsigned n = 0;

	for (unsigned i = 0; i < uid_range_size(&u->range); i++)
		n += !taken[i];
	free(taken);
	return n;
}

const struct uid_range *agent_uids_range(const struct agent_uids *u)
{
	return &u->range;
}

/* --- giving and taking ------------------------------------------------------------------------------------ */

/* A path with a newline is no line: it is left out, and so the tree of nobody. */
static bool note_tree(struct uid_claim *c, const char *tree)
{
	if (!tree || strchr(tree, '\n') ||
	    buf_len(&c->trees) + strlen(tree) + 1 > AGENT_UID_TREES_MAX)
		return false;
	buf_puts(&c->trees, tree);
	buf_putc(&c->trees, '\n');
	return true;
}

/* A holder has one uid: another one replaces it. A claim that cannot be recorded is void. */
int agent_uids_hold(struct agent_uids *u, uid_t uid, const char *holder, const char *tree,
		    struct err *e)
{
	struct uid_claim *c = claim_of(u, holder);
	int r;

	if (c && c->uid == uid)
		return 0;
	if (c)
		agent_uids_drop(u, holder);
	c = claim_add(u, uid, holder);
	note_tree(c, tree);
	r = claim_write(u, c, e);
	if (r < 0)
		claim_free(c);
	return r;
}

int agent_uids_take(struct agent_uids *u, const char *holder, const char *tree, uid_t *ret,
		    struct err *e)
{
	/* freed is a count of releases: the smallest was freed longest ago, 0: not since the start. */
	unsigned size = uid_range_size(&u->range), best = size;
	bool *taken = range_held(u);

	for (unsigned i = 0; i < size; i++)
		if (!taken[i] && (best == size || u->freed[i] < u->freed[best]))
			best = i;
	free(taken);
	if (best == size)
		return err_set(
			e, -EAGAIN, RPC_INTERNAL_ERROR, "AGENT_UIDS_EXHAUSTED",
			"all %u uids of --agent-uids are taken; close sessions, or give it more",
			size);
	*ret = u->range.first + best;
	return agent_uids_hold(u, *ret, holder, tree, e);
}

/* In memory the tree is kept in any case; a failed write loses it for the next daemon. */
void agent_uids_keep(struct agent_uids *u, const char *holder, const char *tree)
{
	struct uid_claim *c = claim_of(u, holder);
	struct err e;

	if (c && note_tree(c, tree))
		(void)claim_write(u, c, &e);
}

/* Otherwise cleaning the uid would remove the tree that a deleted session worked on. */
static void hand_trees_on(struct agent_uids *u, uid_t uid, const struct buf *trees)
{
	struct uid_claim *heir = claim_on(u, uid);
	struct err e;

	if (!heir || !buf_len(trees) ||
	    buf_len(&heir->trees) + buf_len(trees) > AGENT_UID_TREES_MAX)
		return;
	buf_add_slice(&heir->trees, buf_slice(trees));
	(void)claim_write(u, heir, &e);
}

void agent_uids_drop(struct agent_uids *u, const char *holder)
{
	struct uid_claim *c = claim_of(u, holder);
	_cleanup_(freep) char *path = NULL;

	if (!c)
		return;
	path = claim_path(u, c);
	list_del(&c->link);
	list_init(&c->link);
	hand_trees_on(u, c->uid, &c->trees); /* before it is forgotten here */
	unlink(path);
	if (uid_range_has(&u->range, c->uid))
		u->freed[c->uid - u->range.first] = ++u->count;
	claim_free(c);
}

/* --- whether ------------------------------------------------------------------------------------------------- */

/* An empty range is valid: then all sessions run as --agent-user. */
int agent_uids_check(const struct uid_range *range, const struct agent_user *user, struct err *e)
{
	unsigned bare;

	if (!uid_range_size(range))
		return 0;
	if (geteuid() != 0)
		return err_field(e, "agent-uids", "OPTION_INVALID", "--agent-uids needs root");
	if (!user->switched)
		return err_field(e, "agent-uids", "OPTION_INVALID",
				 "--agent-uids needs --agent-user, a user other than root: it is "
				 "for what belongs to no session");
	if (uid_range_has(range, user->uid))
		return err_field(e, "agent-uids", "OPTION_INVALID",
				 "--agent-uids has the uid of --agent-user in it");
	return uid_range_look(range, &bare, e);
}

/* --- life --------------------------------------------------------------------------------------------------- */

struct agent_uids *agent_uids_open(const char *state_dir, const struct uid_range *range,
				   struct err *e)
{
	struct agent_uids *u = new0(struct agent_uids);
	struct dirent *entry;
	_cleanup_(closedirp) DIR *d = NULL;
	int r;

	u->range = *range;
	u->dir = file_join(state_dir, "uids");
	u->freed = xalloc((uid_range_size(range) + 1) * sizeof(*u->freed));
	list_init(&u->claims);
	r = file_mkdirs(u->dir, 0700);
	if (r == 0 && !(d = opendir(u->dir)))
		r = -errno;
	while (d && (entry = readdir(d)))
		claim_read(u, entry->d_name);
	if (r == 0)
		return u;
	err_set(e, r, 0, "STATE_NOT_WRITABLE", "%s: %s", u->dir, strerror(-r));
	return agent_uids_close(u);
}

struct agent_uids *agent_uids_close(struct agent_uids *u)
{
	if (!u)
		return NULL;
	list_each(c, &u->claims, struct uid_claim, link)
		claim_free(c);
	free_each(u->freed, u->dir, u);
	return NULL;
}
