/*
 * serve.h - the daemon of `acpd serve`: all that it has made, and the steps of its life. cmd_serve.c builds it, runs it and takes
 * it down; entrypoint and doctor use what checks its configuration.
 */
#pragma once

#include "access/tokens.h"
#include "acp/acp_server.h"
#include "cli/options/cli_options.h"
#include "digest/digest.h"
#include "egress/egress.h"
#include "egress/nft_wall.h"
#include "fetcher/fetcher.h"
#include "harnesses/registry.h"
#include "http/endpoints.h"
#include "http/mcp/mcp_http.h"
#include "lifecycle/lifecycle.h"
#include "loop/file_watch.h"
#include "loop/loop.h"
#include "loop/restore_watch.h"
#include "net/claim/admission.h"
#include "net/claim/claim.h"
#include "net/net_server.h"
#include "net/unix_server.h"
#include "outbox/outbox.h"
#include "proc/owner.h"
#include "session/core/session.h"
#include "tools/hosted/hosted.h"
#include "tools/relay/relay.h"

/* --- handover.c: what the daemon leaves to the program that takes its place (acpd restart) ----------------------------- */

/* The claim, the listener, and how often that has happened: a file in memory, whose descriptor the variable ACPD_HANDOVER
 * names; the process stays the same. */
struct handover {
	char *text; /* what was left, with secrets in it; NULL: nothing */
	size_t n;
	struct slice claim; /* raw, of text; empty: it was not claimed */
	struct sha256 file; /* of the token file */
	bool has_file;
	int listener; /* 0: none */
	uint64_t restarts;
};

/* Once, at the start. Without the variable all is zero. */
int handover_take(struct handover *h, struct err *e);
/* Wipes the text; the numbers stay. */
void handover_done(struct handover *h);
/* Leaves all that; a descriptor, or -errno. */
int handover_leave(const struct claim_desk *desk, const struct admission *admission, int listener,
		   uint64_t restarts);
/* The program's file, before it may be replaced. */
void handover_note_program(void);
/* Executes that file with the arguments of this process; returns only on failure. */
int handover_execute(int fd);

/* --- hosting.c: the MCP side of the daemon ------------------------------------------------------------------------------ */

struct hosting {
	struct hosted *hosted;
	struct relay *relay;
	struct mcp_http *http;
	struct loop_timer ready;
	bool begun;
};

struct daemon;

/* agent-user has been checked. There are no servers yet. */
int hosting_open(struct daemon *d, struct err *e);
/* The daemon is claimed: reads the configuration of servers and starts them. A copy that is claimed again has them. */
void hosting_begin(struct daemon *d);
/* Call before the store is freed, which holds sessions that are served; all processes are gone by then. */
void hosting_close_http(struct daemon *d);
void hosting_close(struct daemon *d);
/* Gets what is odd in the file of MCP servers, and does not matter to a start. */
typedef void (*hosting_warn_fn)(void *ctx, const char *text);
/* Prints it to standard error. */
void hosting_warn_user(void *ctx, const char *text);
/* For --check: how many servers the configuration has, or what is wrong with it. */
int hosting_check(const struct config *c, hosting_warn_fn warn, void *ctx, struct err *e);

/* --- serve_webhooks.c: where the receivers of webhooks come from -------------------------------------------------------- */

struct serve_webhooks {
	struct file_watch *watch;
	bool claimed, stale; /* stale: the file is another sandbox's */
};

/* At the start. What is in the file, if it is there; FETCH_UNAVAILABLE. -EINVAL or -ENOENT with e. */
int serve_webhooks_check(const struct config *c, struct err *e);
void serve_webhooks_open(struct daemon *d);
void serve_webhooks_close(struct daemon *d);
/* Checks what a claim brings; empty text is an empty list. */
int serve_webhooks_parse(const struct config *c, struct slice array, struct webhook_list *ret,
			 struct err *e);
/* The daemon is claimed; list: what the claim brings, taken over; NULL: nothing. */
void serve_webhooks_begin(struct daemon *d, struct webhook_list *list);
/* SIGHUP. */
void serve_webhooks_reload(struct daemon *d);
/* It is another sandbox now, and nobody has claimed it. */
void serve_webhooks_forget(struct daemon *d);

/* --- the whole ----------------------------------------------------------------------------------------------------------- */

/* All that `acpd serve` has made, in the order of cmd_serve.c. */
struct daemon {
	const struct config *cfg; /* that holds: of the start, or claimed */
	struct config claimed;
	struct owner_lock lock;
	struct loop *loop;
	struct proc_host *procs;
	struct harness_table harnesses;
	struct session_store *store;
	struct lifecycle *life;
	struct archive_store *archives;
	struct fetcher *fetcher;
	struct outbox *outbox;
	struct egress *egress;
	struct nft_wall *wall;
	struct hosting mcp;
	struct acp_server *acp;
	struct agui *agui;
	struct tokens *tokens;
	struct admission *admission;
	struct claim_desk *desk;
	struct e2b_claim *e2b;		/* NULL without --claim-e2b */
	struct file_watch *token_watch; /* of --token-file */
	struct serve_webhooks webhooks;
	struct http_context http;
	struct unix_server *sockets;
	struct net_server *net;
	struct restore_watch *restore;
	struct handover before; /* what the program in this one's place has left */
	char *ui_dir;
	struct loop_timer grace, linger, settled;
	unsigned lingered;
	bool stopping, sessions_down, hosted_down;
};

/* --- serve_check.c: what of the configuration can be checked before anything is made ------------------------------------ */

/* -EINVAL and more, with e naming the option. Nothing stays of what is tried. */
int serve_check(const struct config *c, struct err *e);
/* Checks more, which a start only warns of: the file of MCP servers, and variables that nothing reads. Returns the number
 * of these servers, or -EINVAL. */
int serve_check_strictly(const struct config *c, hosting_warn_fn warn, void *ctx, struct err *e);
/* Parts of serve_check: --agent-user and --agent-uids; a directory, which can be made or written; all but these. */
int serve_check_users(const struct config *c, struct err *e);
int serve_check_dir(const char *option, const char *dir, struct err *e);
int serve_check_options(const struct config *c, struct err *e);
/* Those of the registry and of --harness-config. 0, or e names file and member, or --default-harness. */
int serve_harnesses(const struct config *c, struct harness_table *ret, struct err *e);
/* "host:port" or "[v6]:port" into host (caller frees) and port. */
int serve_listen(const char *listen, char **host, int *port, struct err *e);

/* --- serve_settings.c: what options mean to the parts of the daemon, when they are made and at a claim -------------------- */

/* The image's own directory, unless an option names another. */
const char *serve_baked(const char *given, const char *usual);
/* --default-harness, else the first of the manifest, else the first of all. */
const char *serve_default_harness(const struct config *c, const struct harness_table *t);
/* Its texts are borrowed; without the parts that it points to. */
struct store_config serve_store_config(const struct config *c);
struct admission_config serve_admission_config(const struct config *c);
struct life_times serve_life_times(const struct config *c);
struct acp_config serve_acp_config(const struct config *c, const struct harness_table *harnesses);

/* What the type of an option does not show. -EINVAL with e naming "settings.NAME". */
int serve_check_claim(const struct config *c, const struct harness_table *harnesses, struct err *e);
/* Hands each claimable option to the part that it is for. Cannot fail. */
void serve_set(struct daemon *d);
/* What cannot be meant: OTEL_VARIABLE_INVALID, OTEL_PROTOCOL_UNSUPPORTED, FETCH_UNAVAILABLE. */
int serve_telemetry_check(struct err *e);
/* Webhooks and telemetry. What passed the check and is ignored is a line of the log. */
struct outbox *serve_outbox_new(const struct daemon *d);
/* Its numbers are those of /metrics. */
void serve_telemetry_collect(struct daemon *d);
/* The minted tokens of the daemon, as its other parts know sessions and problems. */
struct tokens *serve_tokens_new(const struct daemon *d);

/* --- serve_claim.c: how an unclaimed daemon comes to life ------------------------------------------------------------------ */

/* Before it all of the daemon's parts may be missing; the loop is not run until they are there. */
void serve_claim_open(struct daemon *d);
void serve_claim_close(struct daemon *d);
/* It is known whose memory this is. webhooks: what the claim brings of them, taken over; NULL: nothing. */
int serve_claim_begin(struct daemon *d, struct webhook_list *webhooks, struct err *e);
/* The claim that the program before has left; empty: it had none. And the token file, if it has changed meanwhile. */
int serve_claim_resume(struct daemon *d, struct slice claim, struct err *e);
/* SIGHUP: the token file, whatever it was, and the file of webhooks. */
void serve_claim_reload(struct daemon *d);

/* --- restored.c: what the daemon does when the machine was away (loop/restore_watch.h), part by part --------------------- */

void restored_begin(struct daemon *d);

/* --- serve_process.c: what the daemon makes of its process and its directories, and the deadline of its stop ------------- */

/* Other processes of the uid cannot read its memory, and it writes no core. */
void serve_harden(void);
/* The directory of --workspaces. */
int serve_make_workspaces(const struct config *c, struct err *e);
/* Starts the deadline, once: after STOP_KILL_MS every process below the daemon is killed, and STOP_EXIT_MS later the
 * daemon exits with EXIT_FAILED. Either is logged. A program that is executed in place of this one ends it. */
void stop_deadline_start(void);
