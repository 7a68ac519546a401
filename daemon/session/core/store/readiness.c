/*
 * readiness.c - what the daemon says of itself before a session is opened: what keeps it from serving one just
 * now, and which features and limits it has.
 *
 * Nothing is cached: each answer is the state at that moment. A problem that only makes some sessions fail, such as a
 * missing acpd-fetch, does not make the daemon unready.
 */
#include "session/core/session_internal.h"

#include "harnesses/harness_pins.h"
#include "fetcher/fetcher.h"
#include "json/jenc.h"
#include "session/core/session_paths.h"
#include "base/limits.h"
#include "proc/spaces/netns.h"

#include <sys/statvfs.h>

static const char *state_problem(const struct session_store *st)
{
	struct statvfs v;

	if (access(st->state_dir, W_OK | X_OK) < 0 || statvfs(st->state_dir, &v) < 0)
		return "STATE_NOT_WRITABLE";
	/* what is kept for root is not full for root */
	if (v.f_blocks && !(geteuid() ? v.f_bavail : v.f_bfree))
		return "NO_SPACE";
	return v.f_files && !v.f_ffree ? "NO_SPACE" : NULL;
}

char *harness_program(const struct harness_def *def)
{
	return paths_find_program(def, HARNESS_PREFIX, getenv("PATH"));
}

bool harness_installed(const struct harness_def *def)
{
	_cleanup_(freep) char *path = harness_program(def);

	return path != NULL;
}

static bool has_installed_harness(const struct harness_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (harness_installed(&t->defs[i]))
			return true;
	return false;
}

static void put_problem(struct jw *w, const char *reason, const char *text)
{
	jw_object(w, NULL, JW_STR("reason", reason), JW_STR("message", text));
}

/* Every call that has a key would fail. Without acpd-fetch there is none, and sessions are told so. */
static int check_keys(const struct session_store *st, struct err *e)
{
	_cleanup_(freep) char *program = fetcher_program();

	return program && st->fetcher ? fetcher_check_keys(st->fetcher, "", e) : 0;
}

/* What a start goes on with in the background. */
static int check_recovery(const struct session_store *st, struct err *e)
{
	unsigned trees = workspaces_recovering(&st->workspaces, NULL);

	if (trees)
		return err_set(e, -EBUSY, 0, "RECOVERING",
			       "jobs that were killed in %u directories are being finished or "
			       "undone; retry later",
			       trees);
	if (!list_empty((struct list *)&st->recovery.dormant))
		return err_set(e, -EBUSY, 0, "RECOVERING",
			       "the sessions of an earlier daemon are being read; retry later");
	return 0;
}

bool store_put_ready(const struct session_store *st, struct jw *w)
{
	const char *state = state_problem(st);
	bool harness = has_installed_harness(st->harnesses);
	struct err e = { 0 }, keys = { 0 }, recovery = { 0 };
	bool ready = store_admit(st, &e) == 0 && !state && harness;

	/* `&& ready` last: every check runs, so that all problems are listed. */
	ready = check_keys(st, &keys) == 0 && ready;
	ready = check_recovery(st, &recovery) == 0 && ready;
	jw_bool(w, "ready", ready);
	jw_arr(w, "notReady");
	if (*e.reason)
		put_problem(w, e.reason, e.msg);
	if (state)
		put_problem(w, state, "the state directory cannot be written");
	if (!harness)
		put_problem(w, "HARNESS_NOT_INSTALLED", "no harness is installed");
	if (*keys.reason)
		put_problem(w, keys.reason, keys.msg);
	if (*recovery.reason)
		put_problem(w, recovery.reason, recovery.msg);
	jw_end_arr(w);
	jw_arr(w, "harnesses");
	for (size_t i = 0; i < st->harnesses->n; i++)
		jw_object(w, NULL, JW_STR("id", st->harnesses->defs[i].id),
			  JW_BOOL("installed", harness_installed(&st->harnesses->defs[i])));
	jw_end_arr(w);
	return ready;
}

/* --- what the daemon advertises ------------------------------------------------------------------------------- */

void offer_put_features(struct jw *w)
{
	static const char *const features[] = {
		"seq",		"gap",	     "detached", "turnEnd", "promptKey",    "whenBusy",
		"whenDetached", "env",	     "provider", "status",  "model",	    "mode",
		"policy",	"budgets",   "usage",	 "fork",    "events",	    "archives",
		"workspace",	"skills",    "secrets",	 "envKeep", "instructions", "harnessFiles",
		"diff",		"artifacts", "mcp",	 "ack",	    "tunnel",	    "promptBudgets",
		"checks",	"approvals", "retry",	 "tokens",  "observe"
	};

	jw_obj(w, "features");
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		jw_bool(w, features[i], true);
	if (!netns_missing())
		jw_bool(w, "network", true);
	jw_end_obj(w);
}

void offer_put_limits(struct jw *w, const struct session_store *st, uint64_t backlog)
{
	struct store_life life;

	store_life(st, &life);
	jw_object(w, "limits", JW_UINT("messageBytes", MESSAGE_MAX), JW_UINT("idChars", RPC_ID_MAX),
		  JW_UINT("backlogBytes", backlog), JW_UINT("queuedPrompts", SESSION_QUEUE_MAX),
		  JW_UINT("sessions", life.session_max), JW_UINT("harnesses", life.harness_max),
		  JW_UINT("harnessIdleSeconds", life.harness_idle));
}
