/*
 * session_store.c - owns all sessions, and everything of the daemon that sessions share.
 *
 * store_new opens everything in dependency order. The parts come first, since removal and recovery
 * release uids, and a mount that a killed daemon left makes a directory busy that is to be removed.
 * store_free frees the sessions first, as they use all other parts.
 * store_stop ends every turn and helper, and reports through store_check_stopped once no child is
 * left; each part calls that when its own job ends.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/log.h"
#include "outbox/outbox.h"
#include "workspace/derive.h"
#include "session/core/session_part.h"

#include <pwd.h>

#define INCARNATION_BYTES 16

/* --- the store ---------------------------------------------------------------------------------------- */

/* The directories: state and homes may be passed through by the agent's uid, the journals may not. */
static int store_make_dirs(struct session_store *st, struct err *e)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = { { "sessions", 0700 }, { "homes", 0711 }, { "trees", 0700 } };
	int r = file_mkdirs(st->state_dir, 0711);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++) {
		_cleanup_(freep) char *path = file_join(st->state_dir, dirs[i].name);

		r = file_mkdirs(path, dirs[i].mode);
	}
	if (r < 0)
		return err_set(e, r, 0, "STATE_NOT_WRITABLE", "%s: %s", st->state_dir,
			       strerror(-r));
	return 0;
}

static int find_agent_user(struct session_store *st, const char *name, struct err *e)
{
	struct passwd *pw;

	if (!name || !*name)
		return 0;
	pw = getpwnam(name);
	if (!pw)
		return err_set(e, -ENOENT, 0, "AGENT_USER_UNKNOWN", "no user named '%s'", name);
	/* Nothing is to be switched, so root is not needed. */
	if (pw->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return err_set(e, -EPERM, 0, "AGENT_USER_NEEDS_ROOT",
			       "running children as '%s' needs root", name);
	st->user = (struct agent_user){ true, pw->pw_uid, pw->pw_gid, xstrdup(name) };
	return 0;
}

static void on_ledger_problem(void *ctx, const char *text)
{
	struct session_store *st = ctx;

	store_note_problem(st, "ledger", "usage.jsonl", text);
}

static int open_ledger(struct session_store *st, struct err *e)
{
	_cleanup_(freep) char *path = file_join(st->state_dir, "usage.jsonl");

	st->ledger = ledger_open(st->loop, path, st->incarnation, e);
	/* Without a ledger no turn could be recorded: the daemon does not start. */
	if (!st->ledger)
		return -EIO;
	ledger_on_problem(st->ledger, on_ledger_problem, st);
	ledger_hold(st->ledger,
		    true); /* until session_recover.c needs no records to end turns by */
	return 0;
}

static void on_archive_problem(void *ctx, const char *name, const char *text)
{
	struct session_store *st = ctx;

	store_note_problem(st, "archive", name, text);
}

void store_background_idle(void *ctx)
{
	struct session_store *st = ctx;

	PARTS_CALL(store_idle, st);
	store_check_stopped(st);
}

static void on_tree_removed(void *ctx, const char *path)
{
	PARTS_CALL(store_tree_removed, ctx, path);
}

static void open_workspaces(struct session_store *st, const struct store_config *cfg)
{
	struct workspaces *ws = &st->workspaces;

	*ws = (struct workspaces){ .loop = st->loop,
				   .procs = st->procs,
				   .archives = cfg->archives,
				   .state_dir = file_join(st->state_dir, "trees"),
				   .root = cfg->workspaces ? xstrdup(cfg->workspaces) :
							     file_join(st->state_dir, "workspaces"),
				   .builtin_dir = xstrdup(cfg->skills),
				   .user = st->user,
				   .idle = store_background_idle,
				   .removed = on_tree_removed,
				   .ctx = st };
	list_init(&ws->claims);
	list_init(&ws->chores);
	archive_on_problem(cfg->archives, on_archive_problem, st);
	workspaces_recover(ws);
}

static void store_on_removed(void *ctx, const char *name)
{
	PARTS_CALL(store_removed, ctx, name);
}

static void remove_foreign(void *ctx, const char *path)
{
	struct session_store *st = ctx;
	struct agent_user owner = agent_user_self();
	struct stat sb;

	/* With the rights of the owner of the tree: the agent controls what is in it. */
	if (lstat(path, &sb) == 0 && sb.st_uid != owner.uid)
		owner = (struct agent_user){ geteuid() == 0, sb.st_uid, sb.st_gid, NULL };
	workspaces_remove(&st->workspaces, &owner, path);
}

static int open_removal(struct session_store *st, struct err *e)
{
	struct removal_spec spec = {
		st->loop,	  st->procs, st->state_dir, store_background_idle, remove_foreign,
		store_on_removed, st
	};

	st->removal = removal_open(&spec, e);
	return st->removal ? 0 : -EIO;
}

static void limit_ledger(struct session_store *st)
{
	const struct store_terms *terms = &st->terms;

	ledger_limit(st->ledger,
		     &(struct ledger_limits){ .file_max = terms->usage_file_max,
					      .keep_secs = (uint64_t)terms->keep_usage.age_secs,
					      .keep_bytes = (uint64_t)terms->keep_usage.bytes });
}

static void apply_terms(struct session_store *st, const struct store_terms *terms)
{
	st->terms = *terms;
	PARTS_CALL(store_configure, st);
}

void store_set_terms(struct session_store *st, const struct store_terms *terms)
{
	apply_terms(st, terms);
	limit_ledger(st);
	retain_begin(st);
}

/* --- the sandbox is a copy of another one ---------------------------------------------------------------- */

int store_begin_incarnation(struct session_store *st, const char *new_id, struct err *e)
{
	/* First, as it alone can fail: after it everything uses the new id. */
	int r = ledger_begin(st->ledger, new_id, e);

	if (r < 0)
		return r;
	if (*st->incarnation)
		log_info("session", "a new incarnation", "from", st->incarnation, "to", new_id);
	xstrset(&st->incarnation, new_id);
	outbox_begin(st->outbox, new_id);
	list_each(s, &st->sessions, struct session, link) {
		turns_end_open(s, "the sandbox is a copy: the turn goes on in the other");
		/* What its harness knows of connections and keys is known to another now. */
		s->harness.restart = s->harness.state != H_NONE;
		session_advance(s);
	}
	return 0;
}

int store_mint_incarnation(struct session_store *st, struct err *e)
{
	return store_begin_incarnation(st, RANDOM_HEX(INCARNATION_BYTES), e);
}

void store_forget_keys(struct session_store *st)
{
	list_each(s, &st->sessions, struct session, link)
		harness_forget_keys(s);
}

/* --- life --------------------------------------------------------------------------------------------------- */

struct session_store *store_new(struct loop *loop, struct proc_host *procs,
				const struct harness_table *harnesses,
				const struct store_config *cfg, struct err *e)
{
	struct session_store *st = PARTS_ALLOC(session_store, store_size);

	st->loop = loop;
	st->procs = procs;
	st->user = agent_user_self();
	st->harnesses = harnesses;
	st->fetcher = cfg->fetcher;
	st->egress = cfg->egress;
	st->outbox = cfg->outbox;
	st->state_dir = xstrdup(cfg->state);
	st->incarnation = xstrdup(cfg->incarnation ? cfg->incarnation : "");
	outbox_begin(st->outbox, st->incarnation);
	st->pass_env = xstrdup(cfg->pass_env);
	st->journal = cfg->journal;
	apply_terms(st, &cfg->terms);
	harness_pool_init(st);
	list_init(&st->sessions);
	list_init(&st->recovery.dormant);
	list_init(&st->recovery.unchecked);
	activity_init(&st->activity);
	list_init(&st->problems);
	/* store_free accepts a store that is opened in part. */
	if (store_make_dirs(st, e) < 0 || find_agent_user(st, cfg->agent_user, e) < 0 ||
	    PARTS_FIRST(store_open, st, cfg, e) < 0 || open_ledger(st, e) < 0)
		return store_free(st);
	limit_ledger(st);
	open_workspaces(st, cfg);
	if (open_removal(st, e) < 0)
		return store_free(st);
	PARTS_CALL(store_begin, st);
	proc_host_on_idle(procs, store_background_idle, st);
	recover_begin(st);
	retain_begin(st);
	/* what they left open is ended with records of its own */
	if (!*st->incarnation && !list_empty(&st->recovery.dormant) &&
	    store_mint_incarnation(st, e) < 0)
		return store_free(st);
	return st;
}

struct session_store *store_free(struct session_store *st)
{
	if (!st)
		return NULL;
	recover_done(st);
	journal_checks_done(st);
	retain_done(st);
	harness_pool_done(st);
	proc_host_on_idle(st->procs, NULL, NULL);
	list_each(s, &st->sessions, struct session, link)
		session_free(s);
	session_index_free(&st->by_id);
	st->removal = removal_close(st->removal);
	PARTS_CALL(store_free, st); /* after the removal, which tells parts of what is gone */
	st->ledger = ledger_free(st->ledger);
	if (st->workspaces.archives)
		archive_on_problem(st->workspaces.archives, NULL, NULL);
	free_each(st->workspaces.state_dir, st->workspaces.root, st->workspaces.builtin_dir);
	buf_done(&st->scratch);
	free_each(st->state_dir, st->incarnation);
	problems_done(st);
	agent_user_done(&st->user);
	free_each(st->pass_env, st);
	return NULL;
}

const struct harness_table *store_harnesses(const struct session_store *st)
{
	return st->harnesses;
}

const char *store_incarnation(const struct session_store *st)
{
	return st->incarnation;
}

unsigned store_count(const struct session_store *st)
{
	return st->count;
}

uint64_t store_last_number(const struct session_store *st)
{
	return st->last_number;
}

struct ledger *store_ledger(const struct session_store *st)
{
	return st->ledger;
}

const char *store_agent_user(const struct session_store *st)
{
	return st->user.name;
}

void store_totals(const struct session_store *st, struct store_totals *ret)
{
	*ret = st->totals;
	list_each(s, (struct list *)&st->sessions, struct session, link)
		ret->running += s->turn.current || s->turn.ending;
	for (int i = 0; i < NOISE_FROM_MAX; i++)
		ret->noise[i] = *proc_host_noise(st->procs, (enum noise_from)i);
	ret->long_lines = proc_host_prescans(st->procs);
	removal_count(st->removal, &ret->removal);
	PARTS_CALL(store_totals, st, ret);
}

void store_life(const struct session_store *st, struct store_life *ret)
{
	/* which keeps what it has read of memory, and changes nothing else */
	unsigned max = harness_pool_max((struct session_store *)st);

	*ret = (struct store_life){ st->pool.nlive,
				    st->pool.nwaiting,
				    max,
				    st->terms.harness_idle,
				    st->terms.harness_wait,
				    st->terms.session_max,
				    st->terms.keep,
				    0,
				    0 };
	list_each(s, (struct list *)&st->pool.live, struct session, harness.live_link)
		if (harness_is_opening(s)) {
			ret->starting++;
			ret->starting_ms =
				MAX(ret->starting_ms, clock_mono_ms() - s->harness.starting_mono);
		}
}

static void note_deadlines(const struct session *s, struct deadline *ret)
{
	const struct {
		const char *what;
		uint64_t due;
	} timers[] = {
		{ "turnCancelled", s->turn.cancel_timer.due },
		{ "detachedCancel", s->detach_timer.due },
		{ "harnessStart", s->harness.start_timer.due },
	};

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		deadline_note(ret, timers[i].what, timers[i].due, s->id);
	if (session_awaits_harness(s))
		deadline_note(ret, "harnessWait", harness_pool_wait_due(s), s->id);
}

static void add_work(const struct session *s, struct store_work *ret)
{
	ret->sessions++;
	ret->turns += (s->turn.current ? 1 : 0) + s->turn.ending;
	ret->queued += s->turn.queued;
	ret->waiting += session_awaits_harness(s);
	ret->jobs += PARTS_FIRST(has_job, s) ||
		     !list_empty((struct list *)&s->harness.open_waiters);
	list_each(c, (struct list *)&s->turn.calls, struct turn_tool_call, link)
		ret->tool_calls += c->open;
	note_deadlines(s, &ret->next);
	PARTS_CALL(put_work, s, ret);
}

void store_work(const struct session_store *st, struct store_work *ret)
{
	*ret = (struct store_work){ 0 };
	list_each(s, (struct list *)&st->activity.working, struct session, working_link)
		add_work(s, ret);
	list_each(s, (struct list *)&st->pool.lonely, struct session, harness.lonely_link) {
		deadline_note(&ret->next, "harnessIdle",
			      s->harness.lonely_since + st->terms.harness_idle * 1000ul, s->id);
		break; /* they stand in the order of their time */
	}
}

struct session *store_find(struct session_store *st, const char *id)
{
	struct session *s = session_index_find(&st->by_id, id);

	return s ? s : recover_one(st, id);
}

struct watcher *store_watcher(struct session_store *st, const char *id, uint64_t origin)
{
	struct session *s = session_index_find(&st->by_id, id);

	for (int i = 0; s && i < 2; i++)
		list_each(w, i ? &s->observers : &s->watchers, struct watcher, link)
			if (w->origin == origin)
				return w;
	return NULL;
}

int store_forget(struct session_store *st, const char *id, struct err *e)
{
	return removal_session(st->removal, id, e);
}

void store_each(struct session_store *st, uint64_t after,
		bool (*fn)(void *ctx, struct session *s, uint64_t number), void *ctx)
{
	/* A list must have all sessions: the journals that are still unread are read now. */
	recover_all(st);
	list_each(s, &st->sessions, struct session, link)
		if (s->number > after && s->state != SESSION_OPENING && !s->stored.remove)
			if (!fn(ctx, s, s->number))
				return;
}

void store_drain(struct session_store *st)
{
	st->draining = true;
}

void store_check_stopped(struct session_store *st)
{
	void (*done)(void *ctx) = st->stopped;

	if (!st->stopping || proc_host_count(st->procs) > 0 || !done)
		return;
	list_each(s, &st->sessions, struct session, link)
		readers_finish(s);
	/* Cleared first, so that done is called once. */
	st->stopped = NULL;
	done(st->stopped_ctx);
}

void store_stop(struct session_store *st, void (*done)(void *ctx), void *ctx)
{
	st->stopping = true;
	st->stopped = done;
	st->stopped_ctx = ctx;
	list_each(s, &st->sessions, struct session, link) {
		/* Before the harness is stopped: its exit would end the turn as failed with another class. */
		turns_end_all(s);
		PARTS_CALL(stop, s);
		harness_stop(s);
	}
	derive_stop(&st->workspaces);
	removal_stop(st->removal);
	PARTS_CALL(store_stop, st);
	retain_stop(st);
	/* There may be no child at all. */
	store_check_stopped(st);
}

void store_kill(struct session_store *st)
{
	list_each(s, &st->sessions, struct session, link)
		if (s->harness.proc)
			proc_kill(s->harness.proc);
}
