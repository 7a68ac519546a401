/*
 * session.h - sessions, their turns and their watchers; what the protocol side (acp/, cli) may do with them.
 *
 * A session lives in the daemon: sockets come and go. It owns at most one harness process at a time, a queue of turns,
 * an event log and the open questions. A watcher (struct watcher) is one connection's view of one session: a cursor
 * into the log, a set of capabilities, and whether it drives. There is one driver at a time; a newer one fences the
 * older.
 *
 * session_states.h has the states. A session that is CLOSED has no process and can be loaded; one that is deleted is
 * gone from the store. The harness is started when a turn or a load needs it. Every turn ends exactly once, through
 * turn_finish(), whatever happens to harness, client or daemon.
 *
 * Everything here runs on the loop. Requests that take time get a completion callback, called exactly once: when the
 * request failed at once it returns <0 instead and does not call back. Strings and slices given in are copied; those
 * handed out are borrowed for the call.
 */
#pragma once

#include "egress/wire/egress_rules.h"
#include "base/err.h"
#include "base/format/retention.h"
#include "base/slice.h"
#include "harnesses/registry.h"
#include "loop/loop.h"
#include "model/model_listener.h"
#include "proc/proc.h"
#include "session/core/log/evlog.h"
#include "session/core/log/event_table.h"
#include "session/core/removal.h"
#include "usage/ledger/ledger.h"
#include "proc/cgroup/group_limits.h"
#include "session/core/harness/setup.h"
#include "usage/budget.h"
#include "workspace/request.h"
#include "workspace/workspaces.h"

struct grant;
struct session;
struct session_store;
struct fetcher;
struct egress;
struct nft_wall;
struct outbox;

/* What can be set late, by a claim. */
struct store_terms {
	uint64_t journal_max;
	unsigned permission_timeout; /* seconds a held question waits for a driver */
	unsigned model_hold;	     /* seconds a model call waits for a client that makes it */
	uint64_t record_max;	/* bytes of the recording of a session's model calls; 0: none */
	unsigned mcp_hold;	/* seconds an MCP request to a client waits for one to come back */
	unsigned harness_idle;	/* seconds; 0: harnesses are never stopped for that */
	unsigned harness_max;	/* 0: as memory allows */
	unsigned harness_wait;	/* seconds */
	unsigned harness_start; /* seconds */
	unsigned session_max;
	uint64_t draft_max;	     /* bytes */
	struct group_limits limits;  /* of each session; memory 0: all but what the daemon needs */
	struct retention keep_usage; /* of closed ledger files that were read */
	uint64_t usage_file_max;
	struct retention keep; /* closed sessions */
	struct level_policy level;
	enum egress_mode network_max;
};

struct store_config {
	const char *state;	 /* directory: sessions/, homes/ */
	const char *incarnation; /* it begins with; NULL: none, until store_mint_incarnation */
	const char *agent_user;	 /* NULL or "": children keep our uid */
	const char *agent_uids;	 /* FIRST-LAST, of sessions; or NULL */
	const char *
		pass_env; /* names or NAME*, comma-separated, that children see of our environment; or NULL */
	bool journal;
	struct store_terms terms;
	struct archive_store *archives;
	struct fetcher *fetcher; /* for calls to other machines */
	struct egress *egress;	 /* for those that sessions make themselves */
	struct nft_wall *wall;
	struct outbox *outbox;	/* for what happens in sessions; may be NULL */
	const char *workspaces; /* root of ephemeral ones; NULL: <state>/workspaces */
	const char *skills;	/* directory of builtin ones; NULL: none */
};

/* --- the store ------------------------------------------------------------------------------------ */

struct session_store *store_new(struct loop *loop, struct proc_host *procs,
				const struct harness_table *harnesses,
				const struct store_config *cfg, struct err *e);
/* Those of a claim, before the first session is opened. */
void store_set_terms(struct session_store *st, const struct store_terms *terms);
/* All processes must be gone (store_stop). */
struct session_store *store_free(struct session_store *st);
/* From now on prompts, new sessions and loads of closed ones are refused with DRAINING; what runs goes on. */
void store_drain(struct session_store *st);
/* Fails every open turn with class "shutdown", stops every harness; done(ctx) once none is left. */
void store_stop(struct session_store *st, void (*done)(void *ctx), void *ctx);
void store_kill(struct session_store *st);
struct session *store_find(struct session_store *st, const char *id);
/* What there is on disk of a session that store_find does not find, because it cannot be read, is removed. */
int store_forget(struct session_store *st, const char *id, struct err *e);
/* What scopes all that is counted: events, turns, usage records. One for each run of the daemon, and for each sandbox
 * that a run goes on in. */
const char *store_incarnation(const struct session_store *st);
/* The sandbox has become another, a copy of the one that went on: what is counted from now on is new_id's. Turns that
 * are open, queued ones too, belong to the line they began in and end here as failed (class "shutdown"), on record as
 * begun there; harnesses are stopped, and started anew by what next needs one. Sockets are the caller's: they should be
 * closed before. -EINVAL with e, and nothing has changed: it is no id, or the one that holds. */
int store_begin_incarnation(struct session_store *st, const char *new_id, struct err *e);
/* The same, of an id that is drawn for it. */
int store_mint_incarnation(struct session_store *st, struct err *e);
/* And nothing that clients gave for the other is used here: keys, headers and secrets of all sessions are wiped, as a
 * restart of the daemon would; harnesses, which have them, are killed. PROVIDER_REQUIRED, ENV_REQUIRED from then on. */
void store_forget_keys(struct session_store *st);
/* The wall clock has jumped: what goes by it is judged anew soon. */
void store_clock_jumped(struct session_store *st);
const struct harness_table *store_harnesses(const struct session_store *st);
unsigned store_count(const struct session_store *st);
/* Creation number of the newest session, living or not. */
uint64_t store_last_number(const struct session_store *st);
struct ledger *store_ledger(const struct session_store *st);
/* Damage on disk (problems.c). what: "ledger", "journal", "archive", ...; name: which one, or NULL. */
struct jw;
void store_note_problem(struct session_store *st, const char *what, const char *name,
			const char *text);
/* Array of {what, name?, text}; empty: nothing is wrong. */
void store_put_problems(const struct session_store *st, struct jw *w, const char *key);
/* NULL: children keep the daemon's uid. */
const char *store_agent_user(const struct session_store *st);
/* Sessions have uids of their own. */
bool store_has_uids(const struct session_store *st);
/* Those of --agent-uids; nothing without. And a warning if they lack users. */
void store_put_uids(const struct session_store *st, struct jw *w, const char *key);
void store_log_uids(const struct session_store *st);
/* Where a harness's program is, or NULL. Caller frees. */
char *harness_program(const struct harness_def *def);
/* What is installed, and which version it says it has (programs/programs.h). */
struct programs *store_programs(struct session_store *st);
/* Its command is there. */
bool harness_installed(const struct harness_def *def);
struct jw;
/* Member "level" {requested, achieved, missing}: what a session would get whose client names no level. */
void store_put_level(const struct session_store *st, struct jw *w);
/* Member "levels" [{name, whole, missing}]: each that --level-min allows, and whether a new session could have it whole. */
void store_put_levels(const struct session_store *st, struct jw *w);
/* Member "network" {max, modes: [{mode, wall} or {mode, missing}]}: what a new session could be given. */
void store_put_network(const struct session_store *st, struct jw *w);
void store_log_level(const struct session_store *st);
/* Members ready, notReady (why) and harnesses; true if a session could be opened now. */
bool store_put_ready(const struct session_store *st, struct jw *w);
/* The members "features" and "limits" of initialize and of GET /v1/info. backlog: --backlog-max. */
void offer_put_features(struct jw *w);
void offer_put_limits(struct jw *w, const struct session_store *st, uint64_t backlog);

/* How a tool call that came over /mcp ended. */
enum outside_end {
	OUTSIDE_COMPLETED,
	OUTSIDE_FAILED,
	OUTSIDE_CANCELLED,
	OUTSIDE_NEEDS_INPUT, /* its server needs input first */
	OUTSIDE_END_MAX,
};
const char *outside_end_word(enum outside_end end);

/* Counts over the life of this daemon, deleted sessions included. */
struct store_totals {
	uint64_t running, turns, failed, events, dropped;
	uint64_t mended, refused; /* updates of harnesses that did not fit ACP's schema */
	uint64_t unknown;	  /* updates whose kind is not known here */
	struct noise_counts noise[NOISE_FROM_MAX]; /* what children wrote besides messages */
	struct prescan_counts long_lines;
	struct removal_counts removal;
	uint64_t rested_idle,
		rested_room; /* harnesses that were stopped because nobody used them, or needed it more */
	uint64_t crowded_out;	/* prompts and sessions that got no harness in time */
	uint64_t removed_empty; /* sessions without client and history */
	uint64_t removed_age, removed_size, removed_room, trimmed; /* retain.c */
	struct {
		uint64_t calls, asked_again, dropped; /* dropped: messages */
		uint64_t refused[MODEL_REFUSAL_MAX];
	} model;
	uint64_t outside[OUTSIDE_END_MAX];
};
void store_totals(const struct session_store *st, struct store_totals *ret);
/* How many harnesses live, may live, and are waited for, and the other limits of --harness-* and --session-max. */
struct store_life {
	unsigned live, waiting, harness_max, harness_idle, harness_wait, session_max;
	struct retention keep;
	unsigned starting;    /* live harnesses that are not ready */
	uint64_t starting_ms; /* how long the first of them has been starting */
};
/* After a restore: ends the TCP connections of sessions to other machines, as far as root and the kernel allow; says in the log how many, or
 * why not. */
void store_destroy_sockets(const struct session_store *st);
void store_life(const struct session_store *st, struct store_life *ret);

struct jw;
/* Member "provider": how the model calls of its harness are made; nothing for a session without a provider. */
void session_put_provider(struct jw *w, const struct session *s);
/* Member key: the limits of a session that requests none, and the most that a session can request. */
void store_put_limits(struct jw *w, const char *key, const struct session_store *st);
/* Member "network": what the session may reach; nothing if nobody has said. */
void session_put_network(struct jw *w, const struct session *s);
/* Elements of an array, what people have decided from now on: {id, policy, made, tool?, server?, kind?, commands?, argv?,
 * paths?}. */
void session_rules_put(const struct session *s, struct jw *w);
/* id: "session.rules[3]". RULE_UNKNOWN: the session has none of that name. */
int session_rules_forget(struct session *s, const char *id, struct err *e);
/* Element of the answer to session/list: a SessionInfo of ACP. */
void session_put_listed(struct jw *w, const struct session *s);
/* Member "damaged" {missing, unusable?}: how many events damage on disk has taken, and whether it can only be read;
 * nothing if the journal is whole. */
void session_put_damage(struct jw *w, const struct session *s);
/* Members of the parts of the session, for answers that open it (session_part.h). */
void session_parts_put_opened(struct jw *w, const struct session *s);
/* One object with all of it, for every list of sessions that we give. key as for jw_obj. */
void session_put_status(struct jw *w, const char *key, const struct session *s);
/* The member sessions: the status of each that this token sees. */
void store_put_sessions(struct session_store *st, const struct grant *g, struct jw *w);
/* Calls fn for sessions created after number `after`, oldest first, until it returns false. */
void store_each(struct session_store *st, uint64_t after,
		bool (*fn)(void *ctx, struct session *s, uint64_t number), void *ctx);

/* --- opening and closing -------------------------------------------------------------------------- */

struct session_params {
	const char *cwd;
	const struct harness_def *harness;
	struct setup_params setup;
	unsigned client;	       /* client_cap bits of the opener */
	unsigned model_apis;	       /* bit per enum model_api: calls that the opener makes */
	const struct request *request; /* what to put into workspace and home first; NULL: nothing */
	struct slice meta;	       /* raw params._meta, or empty: its trace context */
};

/* err NULL on success; result: raw, or empty. */
typedef void (*session_set_fn)(void *ctx, struct slice result, const struct err *e);
/* err NULL: the harness is ready. */
typedef void (*session_done_fn)(void *ctx, struct session *s, const struct err *e);

/* Returns the session, still opening; on failure of the harness done gets the error and the session is gone after. */
struct session *session_new(struct session_store *st, const struct session_params *p,
			    session_done_fn done, void *ctx, struct err *e);
/* A new session with the context and history of an idle one; what p leaves out is taken from there. */
struct session *session_fork(struct session *from, const struct session_params *p,
			     session_done_fn done, void *ctx, struct err *e);
/* Brings an existing session to OPEN with a ready harness, starting it if need be. params: those of load/resume. What
 * cannot be is refused before anything is changed; if the harness does not come up with it, the session is as it was
 * before. What changes while a turn runs and needs another harness process takes effect at the end of the turn
 * (session_put_pending). */
int session_open(struct session *s, const struct session_params *p, session_done_fn done, void *ctx,
		 struct err *e);
/* Cancels what runs, stops the harness; done (or NULL) when no process is left. remove: forget it altogether. */
void session_close(struct session *s, bool remove, session_done_fn done, void *ctx);

/* Puts more into workspace and private home of an open session. result: raw {workspace?, skills?, instructions?}, or
 * with an error acpd-unpack's raw refusal, if it was that. */
int session_provision(struct session *s, const struct request *r, const char *prefix,
		      session_set_fn done, void *ctx, struct err *e);
/* What has changed in the workspace since its baseline (since 0) or the end of a turn. result: raw {patch | artifact,
 * files, insertions, deletions, omitted, omittedTotal}. NO_BASELINE, FIELD_OUT_OF_RANGE. */
int session_diff(struct session *s, uint64_t since, session_set_fn done, void *ctx, struct err *e);
/* An archive of its workspace has been sent. report: that of acpd-unpack; what the archive lacks becomes an event. */
void session_note_export(struct session *s, struct slice report);
/* Ends the check, provision, diff or work on a draft that was asked for with ctx: done follows with CANCELLED (a check:
 * unchecked), unless it came too late. */
void session_cancel_work(struct session *s, const void *ctx);
/* A draft is switched on, or off: DRAFT_NOT_EMPTY unless what it changes may be lost. Refused while a turn runs. result:
 * raw {draft}, or with an error data of it. */
int session_switch_draft(struct session *s, bool on, bool discard, session_set_fn done, void *ctx,
			 struct err *e);
/* What the draft changes in the real tree: raw {patch | artifact, patchDigest, changes, conflicts, ...}. NO_DRAFT. */
int session_diff_draft(struct session *s, session_set_fn done, void *ctx, struct err *e);
/* Applies that, if its digest is still this one: raw {applied, patchDigest, draft}, or with an error {conflicts,
 * conflictsTotal}. force: raw array of paths that are applied although they are conflicts; may be empty. */
int session_apply_draft(struct session *s, const char *digest, struct slice force,
			session_set_fn done, void *ctx, struct err *e);
bool session_has_draft(const struct session *s);
/* Member "draft": that there is one, and where; nothing without. */
void session_put_draft(struct jw *w, const struct session *s);
/* Where its programs work: its cwd, or the copy of a draft. */
const char *session_workdir(const struct session *s);
/* The tree that its programs see at its cwd, for a job of acpd-unpack as its user. It can be read after
 * session_tree_open. */
const char *session_tree(const struct session *s);
int session_tree_open(struct session *s, struct err *e);
/* The skills in the session's private home, as they are checked now. result: raw {skills: [...]}. */
int session_skills(struct session *s, session_set_fn done, void *ctx, struct err *e);
/* What came of the last such request; empty if it failed, or there was none. */
struct slice session_provisioned(const struct session *s);
/* Member "pending": names of the parameters that wait for the end of the running turn; nothing if there are none. */
void session_put_pending(const struct session *s, struct jw *w);
/* acpd-unpack's raw refusal of it, or empty. */
struct slice session_refusal(const struct session *s);

const char *session_id(const struct session *s);
const char *session_cwd(const struct session *s);
/* False: damage on disk has taken what it was made with. It is closed, and can be read and deleted, nothing
 * else; its harness is "unknown", its directory "/". */
bool session_has_head(const struct session *s);
/* It was made of a bundle (session/parts/bundle/session_bundle.h): it can be read and deleted, nothing else. */
bool session_is_imported(const struct session *s);
/* SESSION_IMPORTED, if it was. */
int session_refuse_imported(const struct session *s, struct err *e);
/* Which of the session's directories (cwd, additionalDirectories) the absolute path is in, by their text: the
 * innermost, for the caller to free, and what of path comes after it, empty for the directory itself. path has no
 * component "." or "..". False: it is in none. */
bool session_root_of(const struct session *s, struct slice path, char **root, struct slice *below);
/* Members uid and gid of a job of acpd-unpack, if the workspace is another user's. */
void session_put_owner(struct jw *w, const struct session *s);
const struct harness_def *session_harness(const struct session *s);
const struct harness_caps *session_caps(const struct session *s);
/* Raw JSON, empty if the harness has none. */
struct slice session_modes(const struct session *s);
struct slice session_config(const struct session *s);
/* Member "names": variables whose values were not written down, and that p does not give. True if there are any. */
bool session_put_missing_env(struct jw *w, const struct session *s, const struct session_params *p);
/* Array of the values that the option of a category has ("model", "mode"). */
void session_known_values(const struct session *s, const char *category, struct jw *w,
			  const char *key);
/* The last open of the harness found its context again (always true for a first open). */
bool session_is_restored(const struct session *s);
uint64_t session_last_seq(const struct session *s);
/* The first number that a client has of that incarnation and that may mean another event here; 0: all of them may. */
uint64_t session_shares(const struct session *s, const char *incarnation);
/* The numbers of that incarnation (NULL: none is named) up to seen do not all mean the same events here. */
bool session_is_foreign(const struct session *s, const char *incarnation, uint64_t seen);
/* Numbers of s are about to be told to a client: the journal knows of which incarnation they are. */
void session_settle_incarnation(struct session *s);
/* The client has stored the events up to seq, a number of incarnation (NULL: it does not say): they may be given up when
 * there is no room. FIELD_OUT_OF_RANGE. */
int session_ack(struct session *s, const char *incarnation, uint64_t seq, struct err *e);
uint64_t session_acked(const struct session *s);
bool session_is_open(const struct session *s);
/* Some connection is its driver. */
bool session_is_driven(const struct session *s);
/* The running turn's number, 0 if none. */
uint64_t session_running(const struct session *s);
/* It was cancelled, and the harness has not ended it yet. */
bool session_is_cancelling(const struct session *s);

/* --- watchers ------------------------------------------------------------------------------------- */

struct session_question;

struct watcher_ops {
	/* There are events beyond the cursor. */
	void (*wake)(void *ctx);
	/* Put this question to the client; answer with session_answer. */
	void (*ask)(void *ctx, struct session_question *a);
	/* The question is void: withdraw it. */
	void (*unask)(void *ctx, struct session_question *a);
	/* A newer driver took over, or the session is gone; the watcher is detached after this call. */
	void (*detached)(void *ctx, const char *reason);
	/* The session was closed; it stays readable, but takes no more requests until it is loaded again. */
	void (*closed)(void *ctx);
};

struct watcher {
	struct list link;
	struct session *session; /* NULL: detached */
	const struct watcher_ops *ops;
	void *ctx;
	uint64_t origin;    /* connection id: its own prompts are not echoed to it */
	unsigned client;    /* client_cap bits */
	uint64_t next;	    /* cursor: the next seq to send */
	uint64_t live_from; /* events before it are replay */
	bool observes;	    /* it was attached by watcher_observe */
};

/* Attaches as driver, fencing the previous one. from: first seq wanted; last+1 for none. */
void watcher_attach(struct watcher *w, struct session *s, uint64_t from);
/* Attaches beside the driver, if there is one: it gets the same events and is asked nothing, and the session does not
 * know of it. It is detached when the session is deleted. */
void watcher_observe(struct watcher *w, struct session *s, uint64_t from);
/* The client knows it is attached: open questions are put to it. */
void watcher_ready(struct watcher *w);
/* The connection is gone or lets go. */
void watcher_detach(struct watcher *w);
/* Sends events from the cursor on: fn gets those meant for this client, and refuses (false) when it is full.
 * gap: called first if events are gone that were asked for; may refuse likewise. -errno if the journal cannot be
 * read. */
struct watcher_sink {
	bool (*event)(void *ctx, const struct evlog_entry *e);
	bool (*gap)(void *ctx, const struct evlog_gap *g);
	void *ctx;
};
int watcher_pump(struct watcher *w, const struct watcher_sink *sink);
/* Whether the newest events wait for a large one that a thread writes; wake of watcher_ops follows. */
bool watcher_waits(const struct watcher *w);
/* Waits for it, here. */
void watcher_settle(const struct watcher *w);
/* Bytes of log the reader lags behind, at most. */
uint64_t watcher_backlog(const struct watcher *w);
/* That of this origin at a session; NULL: it has none there. */
struct watcher *store_watcher(struct session_store *st, const char *id, uint64_t origin);
/* Something is left to send. */
bool watcher_is_behind(const struct watcher *w);

/* --- turns ---------------------------------------------------------------------------------------- */

struct turn_result {
	bool failed, cancelled;
	uint64_t turn, seq;  /* seq: last event of the turn */
	struct slice result; /* raw PromptResponse if not failed */
	const struct turn_error *error;
	struct slice proof; /* of one that failed: raw {checks?, attempt?}, or empty */
	const char *session;
};

/* As it stands in an error's data.turn and in _acpd/turn_end. */
void turn_error_put(struct jw *w, const char *key, const struct turn_error *te);
/* The same word with static life, if it is one of those that a turn may fail with; else NULL. */
const char *turn_error_reason(const char *reason);
/* Back from there; provider stays NULL. */
void turn_error_load(struct slice raw, struct turn_error *ret);

typedef void (*turn_done_fn)(void *ctx, const struct turn_result *r);

struct prompt_params {
	struct slice content; /* raw, checked array of ContentBlock */
	struct slice meta;    /* raw params._meta or empty; the acpd member is not passed on */
	const char *key;      /* idempotency key or NULL */
	struct slice retry;   /* raw {max}, checked; empty: the session's */
	bool reject_if_busy;
	const struct budget *budget; /* of this prompt alone; NULL: none */
	struct slice checks;	     /* raw array, checked; empty: the session's */
	uint64_t origin;
};

/* Queues the prompt, or attaches to the turn of the same key; if that has ended, done is called at once. NULL: nobody
 * waits. */
int session_prompt(struct session *s, const struct prompt_params *p, turn_done_fn done, void *ctx,
		   struct err *e);
/* More input for the running turn, or a turn of its own if none runs. done's result: {"outcome": "injected",
 * "startedNewTurn" or "failed"}. */
int session_steer(struct session *s, struct slice content, uint64_t origin, session_set_fn done,
		  void *ctx, struct err *e);
/* The prompt that has this completion: cancels its turn wherever it stands. False: not found. */
bool session_cancel_prompt(struct session *s, void *ctx);
/* Cancels the running turn and all queued ones, and checks that run. */
void session_cancel(struct session *s);

/* --- text ------------------------------------------------------------------------------------------ */

enum text_source { TEXT_OF_CLIENT, TEXT_OF_HARNESS, TEXT_SOURCES };

/* Text from there was not Unicode at so many places, which are U+FFFD now (json/jstr.h): told when the turn ends. */
void session_text_repaired(struct session *s, enum text_source from, size_t places);

/* --- questions ------------------------------------------------------------------------------------ */

bool question_is_elicitation(const struct session_question *a);
/* Raw members for params, without sessionId. */
struct slice question_params(const struct session_question *a);
/* result: the client's raw result, or empty for an error or no answer (counts as reject). a is gone after. */
void session_answer(struct session *s, struct session_question *a, struct slice result);

/* --- the provider --------------------------------------------------------------------------------- */

/* Another provider (raw, checked; follows: the connection's) for a session whose model calls pass the daemon: from the next call on, without a word to
 * the harness. What the harness itself was told may not change: PROVIDER_FIXED. */
int session_set_provider(struct session *s, struct slice provider, bool follows, struct err *e);
/* Other rules for where it may go (raw, checked). They hold at once, but for what needs the harness to be started anew:
 * session_put_pending. */
int session_set_network(struct session *s, struct slice network, struct err *e);
/* Its provider is that of the connection which drives it. */
bool session_follows_provider(const struct session *s);

/* --- settings ------------------------------------------------------------------------------------- */

int session_set_mode(struct session *s, const char *mode, session_set_fn done, void *ctx,
		     struct err *e);
/* session/set_model, the older way to say it. */
int session_set_model(struct session *s, const char *model, session_set_fn done, void *ctx,
		      struct err *e);
/* params: raw members configId, value, type?; checked against the known options. */
int session_set_config(struct session *s, struct slice params, session_set_fn done, void *ctx,
		       struct err *e);
