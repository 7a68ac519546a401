/*
 * hosted_server.c - supervises one hosted server: states, restarts, checks, the last error.
 *
 * fallen() handles every end: it stops, waits for the next start, or gives up. An error is masked
 * with the known secrets before it is stored, because status and log show it. The backend is made
 * once and stays over restarts; if something is missing, hosted_server_make() is tried again for the next user of
 * the server.
 */
#include "tools/hosted/hosted_server.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strv.h"
#include "harnesses/spawn_plan.h"
#include "json/jenc.h"
#include "tools/hosted/hosted_check.h"

struct hosted_server {
	struct hosted_server_config config;
	struct upstream *server; /* NULL: not made */
	enum hosted_state state;
	bool stopping;
	uint64_t since_ms;	 /* unix: of this state */
	uint64_t entered_ms;	 /* the same, monotonic */
	unsigned restarts;	 /* in its life */
	unsigned tries;		 /* in a row */
	uint64_t delay_ms;	 /* the last one */
	struct loop_timer timer; /* BACKOFF: until the restart; READY: until the next check */
	struct hosted_check check;
	/* of the last handshake and check */
	char *revision, *title, *version;
	bool is_legacy, is_checked;
	unsigned start_ms, latency_ms;
	int tools;
	/* what went wrong last */
	struct err error; /* reason "": nothing yet */
	uint64_t error_ms;
	void (*down)(void *ctx);
	void *down_ctx;
};

static const char *const state_names[] = {
	[HOSTED_STOPPED] = "stopped", [HOSTED_STARTING] = "starting",
	[HOSTED_READY] = "ready",     [HOSTED_BACKOFF] = "backoff",
	[HOSTED_FAILED] = "failed",   [HOSTED_DISABLED] = "disabled",
};

static void hosted_server_set_state(struct hosted_server *s, enum hosted_state state)
{
	const char *from = state_names[s->state], *name = s->config.entry->name,
		   *session = s->config.session ? s->config.session : "";

	s->state = state;
	s->since_ms = clock_real_ms();
	s->entered_ms = clock_mono_ms();
	if (state == HOSTED_FAILED || state == HOSTED_BACKOFF)
		log_warn("mcp", "server", "server", name, "session", session, "from", from, "to",
			 state_names[state], "reason", s->error.reason, "text", s->error.msg);
	else
		log_info("mcp", "server", "server", name, "session", session, "from", from, "to",
			 state_names[state]);
}

/* Texts of others may contain the secrets that they were given, so those are hidden. */
static void set_error(struct hosted_server *s, const struct err *why)
{
	s->error = *why;
	mask_line(s->config.secrets->mask, s->error.msg, sizeof(s->error.msg));
	err_flatten(s->error.msg);
	s->error_ms = clock_real_ms();
}

/* --- looking -------------------------------------------------------------------------------------------- */

static void hosted_server_check(void *ctx);

/* A check that fails changes no state: the server answers calls, or falls by its own end. */
static void hosted_server_on_checked(void *ctx, const struct hosted_check_result *result)
{
	struct hosted_server *s = ctx;

	if (result->why) {
		set_error(s, result->why);
		log_warn("mcp", "server not looked at", "server", s->config.entry->name, "reason",
			 s->error.reason, "text", s->error.msg);
	} else {
		s->is_checked = true;
		s->tools = result->tools;
		s->latency_ms = result->latency_ms;
	}
	/* The next check is timed from the end of this one, so two checks never overlap. */
	if (s->state == HOSTED_READY)
		loop_timer_set(s->config.loop, &s->timer,
			       s->config.entry->transport == MCPFILE_HTTP ? HOSTED_CHECK_HTTP_MS :
									    HOSTED_CHECK_EVERY_MS,
			       hosted_server_check, s);
}

static void hosted_server_check(void *ctx)
{
	struct hosted_server *s = ctx;

	hosted_check_begin(&s->check, hosted_server_on_checked, s);
}

/* --- up and down ---------------------------------------------------------------------------------------- */

static void hosted_server_begin(void *ctx);

/* Grows with each restart in a row, with jitter: the servers of one file may have ended
 * together. */
static uint64_t next_delay(struct hosted_server *s)
{
	s->delay_ms = jitter_next(s->delay_ms, HOSTED_BACKOFF_MS, HOSTED_BACKOFF_MAX_MS);
	return s->delay_ms;
}

/* After a stable time, or for a call to a server that has failed, restarts count from the
 * beginning. */
static void forget_past(struct hosted_server *s)
{
	s->tries = 0;
	s->delay_ms = 0;
}

static void on_backoff_over(void *ctx)
{
	struct hosted_server *s = ctx;

	s->restarts++;
	hosted_server_begin(s);
}

/* A server over HTTP costs little to check, and others may start it late. So it is checked again. */
static void hosted_server_give_up(struct hosted_server *s)
{
	/* FAILED first: hosted_server_on_wanted then refuses callers that retry from their error. */
	hosted_server_set_state(s, HOSTED_FAILED);
	mcp_server_stop(s->server); /* calls that waited for the next start */
	if (s->config.entry->transport == MCPFILE_HTTP)
		loop_timer_set(s->config.loop, &s->timer, HOSTED_BACKOFF_MAX_MS, on_backoff_over,
			       s);
}

/* It is not running, for this reason. */
static void fallen(void *ctx, const struct err *why)
{
	struct hosted_server *s = ctx;
	bool stable = s->state == HOSTED_READY &&
		      clock_mono_ms() - s->entered_ms >= HOSTED_STABLE_MS;

	hosted_check_cancel(&s->check);
	loop_timer_cancel(&s->timer);
	if (s->stopping) {
		hosted_server_set_state(s, HOSTED_STOPPED);
		if (s->down)
			s->down(s->down_ctx);
		return;
	}
	set_error(s, why);
	if (stable)
		forget_past(s);
	if (s->tries++ >= HOSTED_RESTARTS_MAX) {
		hosted_server_give_up(s);
		return;
	}
	hosted_server_set_state(s, HOSTED_BACKOFF);
	loop_timer_set(s->config.loop, &s->timer, next_delay(s), on_backoff_over, s);
}

static void hosted_server_begin(void *ctx)
{
	struct hosted_server *s = ctx;
	struct err e = { 0 };

	hosted_server_set_state(s, HOSTED_STARTING);
	if (mcp_server_start(s->server, &e) < 0)
		fallen(s, &e);
}

static void on_up(void *ctx, const struct mcp_server_info *info)
{
	struct hosted_server *s = ctx;

	if (s->stopping)
		return;
	xstrset(&s->revision, info->revision);
	xstrset(&s->title, info->name);
	xstrset(&s->version, info->version);
	s->is_legacy = info->is_legacy;
	s->start_ms = info->latency_ms;
	hosted_server_set_state(s, HOSTED_READY);
	hosted_server_check(s);
}

/* It has failed, and was tried again just now. */
static bool is_given_up(const struct hosted_server *s)
{
	return s->state == HOSTED_FAILED && s->server &&
	       clock_mono_ms() - s->entered_ms < HOSTED_RETRY_MS;
}

/* A call came while it is down. */
static bool hosted_server_on_wanted(void *ctx)
{
	struct hosted_server *s = ctx;

	/* The call is refused with SERVER_GONE. */
	if (s->stopping || is_given_up(s))
		return false;
	if (s->state == HOSTED_FAILED) {
		forget_past(s);
		s->restarts++;
		hosted_server_begin(s);
	} else if (s->state == HOSTED_STOPPED) {
		hosted_server_begin(s);
	}
	return true;
}

static void hosted_server_hide(void *ctx, char *text, size_t size)
{
	struct hosted_server *s = ctx;

	mask_line(s->config.secrets->mask, text, size);
}

static const struct mcp_server_events events = { on_up, fallen, hosted_server_on_wanted,
						 hosted_server_hide };

/* --- making --------------------------------------------------------------------------------------------- */

/* What is missing now may be there the next time. */
static int hosted_server_make(struct hosted_server *s, struct err *e)
{
	if (!s->server)
		s->server = hosted_transport_new(&s->config, &events, s, e);
	if (!s->server)
		return -ENOENT;
	s->check.backend = mcp_server_backend(s->server);
	/* It failed when it was made, not in running, so now it may start. */
	if (s->state == HOSTED_FAILED && !s->tries)
		hosted_server_set_state(s, HOSTED_STOPPED);
	return 0;
}

struct hosted_server *hosted_server_new(const struct hosted_server_config *config)
{
	struct hosted_server *s = new0(struct hosted_server);
	struct err e = { 0 };

	s->config = *config;
	s->config.env = strv_copy(config->env);
	s->config.cwd = xstrdup(config->cwd);
	s->config.mark = xstrdup(config->mark);
	s->config.session = xstrdup(config->session);
	proc_bounds_keep(&s->config.bounds);
	s->check.loop = config->loop;
	/* -1: no check has counted them. */
	s->tools = -1;
	s->since_ms = clock_real_ms();
	if (config->entry->disabled) {
		s->state = HOSTED_DISABLED;
	} else if (config->entry->refused) {
		set_error(s, config->refusal);
		hosted_server_set_state(s, HOSTED_FAILED);
	} else if (hosted_server_make(s, &e) < 0) { /* at the next try it may work */
		set_error(s, &e);
		hosted_server_set_state(s, HOSTED_FAILED);
	}
	return s;
}

struct hosted_server *hosted_server_free(struct hosted_server *s)
{
	if (!s)
		return NULL;
	hosted_check_cancel(&s->check);
	loop_timer_cancel(&s->timer);
	mcp_server_free(s->server);
	harness_plan_free_environ((char **)(uintptr_t)s->config.env);
	free_each((void *)(uintptr_t)s->config.cwd, (void *)(uintptr_t)s->config.mark,
		  (void *)(uintptr_t)s->config.session);
	proc_bounds_drop(&s->config.bounds);
	free_each(s->revision, s->title, s->version, s);
	return NULL;
}

/* --- interface ------------------------------------------------------------------------------------------ */

const char *hosted_server_name(const struct hosted_server *s)
{
	return s->config.entry->name;
}

enum hosted_state hosted_server_state(const struct hosted_server *s)
{
	return s->state;
}

unsigned hosted_server_restarts(const struct hosted_server *s)
{
	return s->restarts;
}

void hosted_server_start(struct hosted_server *s)
{
	if (s->state == HOSTED_STOPPED && !s->stopping)
		hosted_server_begin(s);
}

/* True if no process and no connection is left. BACKOFF counts as down: only a timer is left. */
bool hosted_server_down(const struct hosted_server *s)
{
	return s->state != HOSTED_STARTING && s->state != HOSTED_READY;
}

void hosted_server_stop(struct hosted_server *s, void (*down)(void *ctx), void *ctx)
{
	s->down = down;
	s->down_ctx = ctx;
	if (s->stopping)
		return;
	/* From here on every end is final, and no call starts the server again. */
	s->stopping = true;
	hosted_check_cancel(&s->check);
	loop_timer_cancel(&s->timer);
	/* Only a timer was left, and it is cancelled: no end of a process sets the state any more. */
	if (s->state == HOSTED_BACKOFF)
		hosted_server_set_state(s, HOSTED_STOPPED);
	mcp_server_stop(s->server);
}

void hosted_server_kill(struct hosted_server *s)
{
	if (!hosted_server_down(s))
		mcp_server_kill(s->server);
}

static struct mcp_backend *hosted_server_refuse(const struct hosted_server *s,
						const struct err *why, struct err *e)
{
	*e = *why;
	e->rpc = RPC_INVALID_PARAMS;
	err_wrap(e, "the MCP server \"%s\"", s->config.entry->name);
	return NULL;
}

struct mcp_backend *hosted_server_backend(struct hosted_server *s, struct err *e)
{
	struct err why;

	if (s->state == HOSTED_DISABLED) {
		err_set(&why, -EPERM, 0, "MCP_SERVER_DISABLED", "is disabled");
		return hosted_server_refuse(s, &why, e);
	}
	if (s->config.entry->refused || is_given_up(s))
		return hosted_server_refuse(s, &s->error, e);
	if (hosted_server_make(s, &why) == 0)
		return s->check.backend;
	set_error(s, &why);
	return hosted_server_refuse(s, &why, e);
}

struct mcp_backend *hosted_server_backend_for_session(struct hosted_server *s, struct err *e)
{
	struct mcp_backend *b = hosted_server_backend(s, e);
	struct err why;

	if (!b || s->state != HOSTED_FAILED)
		return b;
	why = s->error;
	/* Tried again for the next session; this one must not wait for a server that fails
	 * again. */
	hosted_server_on_wanted(s);
	return hosted_server_refuse(s, &why, e);
}

static void hosted_server_put_error(const struct hosted_server *s, struct jw *w)
{
	if (!s->error.reason[0])
		return;
	jw_obj(w, "lastError");
	jw_str(w, "reason", s->error.reason);
	if (s->error.field[0])
		jw_str(w, "field", s->error.field);
	jw_str(w, "message", s->error.msg);
	jw_str(w, "at", CLOCK_ISO(s->error_ms));
	jw_end_obj(w);
}

static void put_handshake(const struct hosted_server *s, struct jw *w)
{
	if (!s->revision)
		return;
	jw_str(w, "revision", s->revision);
	jw_str(w, "era", s->is_legacy ? "legacy" : "modern");
	jw_object(w, "serverInfo", JW_STR("name", s->title), JW_STR("version", s->version));
	jw_uint(w, "startMs", s->start_ms);
	if (!s->is_checked)
		return;
	jw_uint(w, "latencyMs", s->latency_ms);
	if (s->tools >= 0)
		jw_int(w, "toolCount", s->tools);
}

void hosted_server_put(const struct hosted_server *s, struct jw *w)
{
	pid_t pid = mcp_server_pid(s->server);

	jw_obj(w, NULL);
	jw_str(w, "name", s->config.entry->name);
	jw_str(w, "scope", s->config.session ? "session" : "daemon");
	jw_str(w, "sessionId", s->config.session);
	jw_str(w, "transport", s->config.entry->transport == MCPFILE_HTTP ? "http" : "stdio");
	jw_str(w, "state", state_names[s->state]);
	jw_str(w, "since", CLOCK_ISO(s->since_ms));
	put_handshake(s, w);
	hosted_server_put_error(s, w);
	jw_uint(w, "restarts", s->restarts);
	if (pid > 0)
		jw_int(w, "pid", pid);
	jw_end_obj(w);
}
