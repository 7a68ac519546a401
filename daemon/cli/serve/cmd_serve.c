/*
 * cmd_serve.c - builds the object graph of the daemon, runs it, and takes it down in order.
 *
 * A part is made after those that it uses, and freed before them. The loop runs only when all of them exist, so no
 * client meets half a daemon. A stop has stages: draining (lifecycle.h), then
 * sessions and hosted servers are stopped at the same time, then clients get a moment for the last messages, then
 * the loop ends. stop_deadline_start bounds all of them. A restart in place is a stop, after which the process
 * executes its program again.
 */
#include "cli/cmd.h"
#include "cli/options/cli_options.h"
#include "cli/serve/serve.h"
#include "cli/harness/program_host.h"

#include "agui/agui.h"
#include "base/clock.h"
#include "base/net/address_rules.h"
#include "base/os/file.h"
#include "base/os/own_code.h"
#include "base/os/sandbox.h"
#include "base/limits.h"
#include "base/log.h"
#include "http/isolation.h"
#include "http/viewer.h"
#include "proc/users/daemon_caps.h"
#include "proc/spaces/netns.h"
#include "session/core/store/state_dir.h"
#include "proc/spawn.h"

#include <signal.h>

#define LINGER_MS 300
#define ARCHIVES_BAKED "/opt/acpd/archives"

/* --- stopping ------------------------------------------------------------------------------------------ */

/* What webhooks can be sent has a little longer. */
static void on_linger_over(void *ctx)
{
	struct daemon *d = ctx;

	if (outbox_busy(d->outbox) && ++d->lingered <= WEBHOOK_LINGER_MS / LINGER_MS)
		loop_timer_set(d->loop, &d->linger, LINGER_MS, on_linger_over, d);
	else
		loop_quit(d->loop);
}

/* Once all children are gone, clients get a moment to read the last messages. */
static void check_stopped(struct daemon *d)
{
	if (!d->sessions_down || !d->hosted_down)
		return;
	outbox_drain(d->outbox);
	loop_timer_set(d->loop, &d->linger,
		       acp_server_count(d->acp) || net_server_busy(d->net) ? LINGER_MS : 1,
		       on_linger_over, d);
}

static void on_sessions_down(void *ctx)
{
	struct daemon *d = ctx;

	d->sessions_down = true;
	check_stopped(d);
}

static void on_hosted_down(void *ctx)
{
	struct daemon *d = ctx;

	d->hosted_down = true;
	check_stopped(d);
}

static void kill_children(struct daemon *d)
{
	store_kill(d->store);
	hosted_kill(d->mcp.hosted);
}

static void on_stop_grace_over(void *ctx)
{
	log_warn("serve", "harnesses did not stop in time, killing them");
	kill_children(ctx);
}

/* Draining is over. */
static void stop_daemon(void *ctx)
{
	struct daemon *d = ctx;

	d->stopping = true;
	log_info("serve", "stopping");
	stop_deadline_start();
	loop_timer_set(d->loop, &d->grace, SHUTDOWN_GRACE_MS, on_stop_grace_over, d);
	store_stop(d->store, on_sessions_down, d);
	relay_stop(d->mcp.relay);
	hosted_stop(d->mcp.hosted, on_hosted_down, d);
	acp_server_shutdown(d->acp);
}

/* Asked again, it waits no longer; and at last stops at once. */
static void end_daemon(struct daemon *d)
{
	if (d->stopping) {
		lifecycle_drain(d->life, "signal", 0); /* takes a restart back */
		kill_children(d);
	} else {
		lifecycle_drain_now(d->life, "signal",
				    lifecycle_draining(d->life) ? 0 : DRAIN_AS_SET);
	}
}

static void on_serve_signal(void *ctx, int signo)
{
	struct daemon *d = ctx;

	switch (signo) {
	case SIGCHLD:
		proc_host_reap(d->procs);
		break;
	case SIGHUP:
		serve_claim_reload(d);
		break;
	case SIGUSR2:
		log_set_level(log_get_level() == LOG_DEBUG ? LOG_ERROR : log_get_level() + 1);
		break;
	default:
		end_daemon(d);
	}
}

static int watch_signals(struct daemon *d, struct err *e)
{
	static const int caught[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD, 0 };

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a journal at the file size limit is only an error */
	if (cli_signals(d->loop, caught, on_serve_signal, d) < 0)
		return err_set(e, -errno, 0, "SIGNALS", "cannot watch signals");
	return 0;
}

/* --- starting ------------------------------------------------------------------------------------------ */

static int build_archives(struct daemon *d, struct err *e)
{
	const struct config *c = d->cfg;
	_cleanup_(freep) char *dir = file_join(c->state, "archives");
	struct archive_config ac = { .dir = dir,
				     .baked = serve_baked(c->archives_baked, ARCHIVES_BAKED),
				     .store_max = (uint64_t)c->archive_store_max,
				     .upload_max = (uint64_t)c->archive_max };

	d->archives = archive_store_open(d->loop, &ac, e);
	return d->archives ? 0 : -EIO;
}

/* As most programs read them: the name in lower case first. */
static const char *proxy_variable(const char *lower, const char *upper)
{
	const char *value = getenv(lower);

	return value && *value ? value : getenv(upper);
}

static void build_fetcher(struct daemon *d)
{
	const struct config *c = d->cfg;
	struct fetcher_config fc = { .loop = d->loop,
				     .procs = d->procs,
				     .user = c->fetch_user,
				     .agent_user = c->agent_user,
				     .ca_file = c->ca_file,
				     .http_proxy = proxy_variable("http_proxy", "HTTP_PROXY"),
				     .https_proxy = proxy_variable("https_proxy", "HTTPS_PROXY"),
				     .no_proxy = proxy_variable("no_proxy", "NO_PROXY"),
				     .allow = c->upstream_allow,
				     .unlocked_keys = c->unlocked_keys };

	d->fetcher = fetcher_new(&fc);
}

/* What sessions call by themselves: acpd-proxy, and walls round what does not go there. */
static void build_egress(struct daemon *d)
{
	const struct config *c = d->cfg;
	struct egress_config ec = { .loop = d->loop,
				    .procs = d->procs,
				    .user = c->fetch_user,
				    .agent_user = c->agent_user,
				    .allow = c->upstream_allow };

	d->egress = egress_new(&ec);
	d->wall = nft_wall_new(d->loop, d->procs, c->state);
}

static void build_life(struct daemon *d)
{
	struct lifecycle_config lc = { .loop = d->loop,
				       .store = d->store,
				       .times = serve_life_times(d->cfg),
				       .over = stop_daemon,
				       .ctx = d };

	d->life = lifecycle_new(&lc);
}

static int build_sessions(struct daemon *d, struct err *e)
{
	const struct config *c = d->cfg;
	struct store_config sc = serve_store_config(c);

	d->loop = loop_new();
	if (!d->loop)
		return err_set(e, -errno, 0, "LOOP", "cannot make the event loop");
	/* Before the lock: a state of a newer version is not touched at all. */
	if (state_version_check(c->state, e) < 0)
		return -EPROTONOSUPPORT;
	/* From here on no other daemon uses this state directory. */
	if (owner_acquire(&d->lock, c->state, e) < 0)
		return -EBUSY;
	state_modes_mend(c->state);
	state_version_write(c->state);
	owner_write(&d->lock, NULL);
	d->procs = proc_host_new(d->loop, &d->lock);
	if (build_archives(d, e) < 0)
		return -EIO;
	sc.archives = d->archives;
	build_fetcher(d);
	sc.fetcher = d->fetcher;
	d->outbox = serve_outbox_new(d);
	sc.outbox = d->outbox;
	build_egress(d);
	sc.egress = d->egress;
	sc.wall = d->wall;
	d->store = store_new(d->loop, d->procs, &d->harnesses, &sc, e);
	if (!d->store)
		return -EINVAL;
	build_life(d);
	if (hosting_open(d, e) < 0)
		return -EIO;
	return watch_signals(d, e);
}

/* Everything but /health is refused until then, so that the starter of the daemon does not have to find out why. */
static void say_unclaimed(const struct config *c)
{
	if (c->token_file)
		log_warn(
			"serve",
			"not claimed: there is no token file; it is waited for, and for acpd claim",
			"path", c->token_file);
	else
		log_info("serve", "not claimed: waiting for acpd claim");
}

/* What is only said, and takes long to find out; and the code of the start is not needed again. */
static void on_start_settled(void *store)
{
	isolation_log(store);
	own_code_drop();
}

/* Who is let in: the token, or a claim that is waited for, and the minted tokens. */
static int build_admission(struct daemon *d, struct err *e)
{
	const struct config *c = d->cfg;
	struct admission_config gc = serve_admission_config(c);

	d->admission = admission_new(&gc);
	serve_claim_open(d);
	serve_webhooks_open(d);
	/* After a restart in place the claim is resumed, and its file is read only if it has changed since. */
	if (d->before.has_file)
		(void)admission_file_changed(d->admission, &d->before.file);
	if (!d->before.text && c->token_file && admission_load(d->admission, c->token_file, e) < 0)
		return -EINVAL;
	d->tokens = serve_tokens_new(d);
	admission_use(d->admission, d->tokens);
	if (!admission_claimed(d->admission) && !d->before.claim.n)
		say_unclaimed(c);
	return 0;
}

/* What answers: ACP, AG-UI, and the context of all HTTP routes. */
static void build_servers(struct daemon *d)
{
	const struct config *c = d->cfg;
	struct acp_config ac = serve_acp_config(c, &d->harnesses);

	ac.life = d->life;
	ac.tokens = d->tokens;
	d->acp = acp_server_new(d->loop, d->store, &ac);
	d->agui = agui_new(d->loop, d->store, d->acp, c->state, c->profile);
	d->ui_dir = viewer_dir(c->ui_dir);
	d->http = (struct http_context){ .loop = d->loop,
					 .store = d->store,
					 .procs = d->procs,
					 .archives = d->archives,
					 .fetcher = d->fetcher,
					 .outbox = d->outbox,
					 .hosted = d->mcp.hosted,
					 .mcp = d->mcp.http,
					 .life = d->life,
					 .tokens = d->tokens,
					 .claim = d->e2b ? e2b_claim_ask : NULL,
					 .claim_ctx = d->e2b,
					 .state = c->state,
					 .workspaces = c->workspaces,
					 .agui = agui_ask,
					 .agui_ctx = d->agui,
					 .ui_dir = d->ui_dir,
					 .backlog_max = (uint64_t)c->backlog_max,
					 .started_ms = clock_mono_ms(),
					 .restarts = d->before.restarts };
	serve_telemetry_collect(d);
}

static int open_sockets(struct daemon *d, char **host, struct err *e)
{
	const struct config *c = d->cfg;
	struct net_config nc = { .ping_interval = (unsigned)c->ping_interval,
				 .ping_timeout = (unsigned)c->ping_timeout,
				 .max_connections = (unsigned)c->max_connections,
				 .listener = d->before.listener };

	d->sockets = unix_server_new(d->loop, c->run_dir, d->acp, d->desk, &d->http, e);
	if (!d->sockets || serve_listen(c->listen, host, &nc.port, e) < 0)
		return -EINVAL;
	nc.host = *host;
	d->http.remote = !host_is_loopback(slice_of(*host));
	d->net = net_server_new(d->loop, d->acp, d->admission, &d->http, &nc, e);
	if (!d->net)
		return -EADDRINUSE;
	/* All sockets are bound: what was needed for that is given up. */
	if (daemon_caps_keep(DAEMON_SERVES, e) < 0)
		return -EPERM;
	/* A walled session in our network namespace must not reach the daemon. */
	nft_wall_close_port(d->wall, (uint16_t)net_server_port(d->net));
	unix_server_serve_http(d->sockets, net_server_adopt, d->net);
	return 0;
}

static int build_net(struct daemon *d, struct err *e)
{
	_cleanup_(freep) char *host = NULL;
	bool v6;

	if (build_admission(d, e) < 0)
		return -EINVAL;
	build_servers(d);
	if (open_sockets(d, &host, e) < 0)
		return -EIO;
	if (admission_claimed(d->admission) && serve_claim_begin(d, NULL, e) < 0)
		return -EIO;
	if (d->before.text && serve_claim_resume(d, d->before.claim, e) < 0)
		return -EIO;
	restored_begin(d);
	loop_timer_set(d->loop, &d->settled, START_SETTLED_MS, on_start_settled, d->store);
	v6 = strchr(host, ':') != NULL;
	/* After a restart in place nobody waits for the address. */
	if (!d->before.text)
		printf("acpd listening on ws://%s%s%s:%d/acp\n", v6 ? "[" : "", host, v6 ? "]" : "",
		       net_server_port(d->net));
	fflush(stdout);
	return 0;
}

/* Sets *ret to what is left for the program that takes this one's place, if somebody asked for it. If it cannot be left, that is a
 * failure: what supervises the daemon has to start it again. */
static int leave_to_next(const struct daemon *d, int *ret)
{
	if (!lifecycle_restarts(d->life))
		return EXIT_DONE;
	*ret = handover_leave(d->desk, d->admission, net_server_listener(d->net),
			      d->before.restarts);
	return *ret < 0 ? fail(EXIT_FAILED, "cannot restart in place: %s", strerror(-*ret)) :
			  EXIT_DONE;
}

/* Sockets first (they hold connections), then the server, the sessions, the processes. */
static void teardown(struct daemon *d)
{
	d->restore = restore_watch_free(d->restore);
	d->net = net_server_free(d->net);
	d->sockets = unix_server_free(d->sockets);
	hosting_close_http(d);
	d->agui = agui_free(d->agui);
	loop_timer_cancel(&d->grace);
	loop_timer_cancel(&d->linger);
	loop_timer_cancel(&d->settled);
	d->life = lifecycle_free(d->life);
	d->store = store_free(d->store);
	hosting_close(d);
	d->wall = nft_wall_free(d->wall);
	d->egress = egress_free(d->egress);
	d->outbox = outbox_free(d->outbox);
	d->fetcher = fetcher_free(d->fetcher);
	d->archives = archive_store_close(d->archives);
	d->acp = acp_server_free(d->acp);
	serve_claim_close(d);
	d->admission = admission_free(d->admission);
	d->tokens = tokens_free(d->tokens);
	d->procs = proc_host_free(d->procs);
	owner_release(&d->lock);
	harness_table_done(&d->harnesses);
	xstrset(&d->ui_dir, NULL);
	d->loop = loop_free(d->loop);
}

/* What takes rights that it needs no more comes first. */
static int shed_rights(struct err *e)
{
	if (!spawn_spare_daemon())
		log_info("serve",
			 "without CAP_SYS_RESOURCE the daemon is not spared where memory runs out");
	return daemon_caps_keep(DAEMON_STARTS, e);
}

static void warn_of_name(void *ctx _unused_, const char *name, const char *nearest)
{
	log_warn("serve", "nothing reads this variable", "name", name, "nearest", nearest);
}

static int start_daemon_parts(struct daemon *d, struct err *e)
{
	int r = serve_check(d->cfg, e);

	if (r == 0)
		r = serve_harnesses(d->cfg, &d->harnesses, e);
	if (r == 0 && d->cfg->check)
		r = serve_check_strictly(d->cfg, hosting_warn_user, NULL, e);
	if (r < 0 || d->cfg->check)
		return r;
	env_names_unknown(warn_of_name, NULL);
	r = shed_rights(e);
	if (r == 0)
		r = serve_make_workspaces(d->cfg, e);
	if (r == 0)
		r = build_sessions(d, e);
	if (r == 0)
		r = build_net(d, e);
	return r;
}

int cmd_serve(const struct config *c)
{
	struct daemon d = { .cfg = c, .lock = OWNER_LOCK_INIT };
	struct err e = { 0 };
	int r = EXIT_DONE, left = -1;

	if (c->print_config) {
		config_print(c, SCOPE_SERVE);
		return EXIT_DONE;
	}
	/* Before the file can be replaced. */
	handover_note_program();
	own_node_add();
	netns_prepare();
	/* After netns_prepare, which needs a process that is dumpable. */
	serve_harden();
	log_set_level((enum log_level)log_level_parse(c->log));
	sandbox_id_from(c->sandbox_id_file);
	(void)sandbox_id_refresh();
	if ((!c->check && handover_take(&d.before, &e) < 0) || start_daemon_parts(&d, &e) < 0)
		r = fail_option(&e, c->check ? EXIT_USAGE : EXIT_FAILED);
	/* The claim of the program before has been resumed: its secrets are wiped. */
	handover_done(&d.before);
	if (r == EXIT_DONE && !c->check) {
		net_server_run(d.net);
		r = leave_to_next(&d, &left);
	}
	/* A daemon that could not start is taken down by the same function: each free takes NULL. */
	teardown(&d);
	if (left >= 0)
		r = fail(EXIT_FAILED, "cannot execute the program again: %s",
			 strerror(-handover_execute(left)));
	return r;
}
