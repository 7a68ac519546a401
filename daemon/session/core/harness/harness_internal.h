/*
 * harness_internal.h - the harness beneath a session: its process and adapter, what it reports of itself, what it is
 * brought to before anybody may use it, and the calls that wait for it.
 *
 * This folder owns struct session_harness (`harness` in struct session). Process and adapter live from
 * harness_launch until the process is gone; everybody who waits for them (open_waiters, settings) is answered exactly
 * once, with an error if it does not come.
 */
#pragma once

#include "base/list.h"
#include "loop/loop.h"
#include "proc/output/noise.h"
#include "session/core/session.h"

/* H_CONFIGURING: it is open, and what the session asked for (model, mode) is being set. */
enum harness_state { H_NONE, H_STARTING, H_CONFIGURING, H_READY, H_STOPPING };

/* A call that waits for the harness: set_mode, set_config. */
struct setting {
	struct list link;
	uint64_t token;
	char *mode;   /* set_mode: the new mode */
	char *chosen; /* set_config by a client: configId and value, raw object */
	session_set_fn done;
	void *ctx;
	uint64_t due;
};

/* In struct session: harness. */
struct session_harness {
	enum harness_state state;
	uint64_t starting_mono; /* when its start began */
	struct proc *proc;
	struct harness *adapter;
	char *native_id;
	char *forked_from; /* id of the session whose context it began with */
	unsigned copying;  /* forks that read the home: no harness may be started */
	struct harness_caps caps;
	char *version; /* as the program says itself */
	struct list live_link, wait_link,
		lonely_link; /* harness_pool.c: of the store's lists; empty: in none */
	uint64_t wait_since, lonely_since;
	struct spaces *
		spaces; /* where all that runs for it is (session_spaces.h); NULL: with the daemon */
	char *spaces_for;	  /* the directories that they were made for */
	struct proc_group *group; /* whose limits all share that runs for it (session_limits.h) */
	uint64_t oom_told;	  /* processes killed for memory that were told of */
	uint64_t oom_mono;	  /* when the last were */
	bool resting;		  /* stopped because nobody needed it */
	bool began;		  /* a turn has, so there is a context to take up */
	bool home_filled;	  /* the home has been handed to the agent's user */
	bool restart; /* it is to be started anew before the next turn: its parameters have changed */
	bool forget;	 /* when it is gone, so are the keys of the session */
	bool connecting; /* a part holds the start, until harness_walled */
	bool restored, closed_output, own_modes, model_tried, mode_tried, reconfigure;
	unsigned choices_tried;
	struct noise noise;	     /* what it wrote to its stdout besides messages */
	char *modes, *config;	     /* modes: the harness's own, or derived from config */
	char *model;		     /* in force, as the harness names it; NULL: it does not say */
	struct long_line *long_line; /* the loop works on it now; NULL: on none (harness_output.c) */
	struct list open_waiters, settings; /* struct session_waiter, struct setting */
	uint64_t last_token;
	struct loop_timer start_timer, setting_timer, adapter_timer;
};

/* In struct session_store: pool. */
struct harness_pool {
	uint64_t memory_left, memory_known_ms; /* as it was then; monotonic, 0: never */
	struct list live, waiting, lonely;     /* struct session, by its harness.*_link */
	unsigned nlive, nwaiting;
	struct loop_timer lonely_timer, wait_timer;
};

/* What a harness is asked for when it starts, and what parts keep for that. */
struct harness_request {
	struct harness_req of;
	struct harness_provider provider; /* what of.provider points to */
	const char *
		model_host; /* where its model calls go, which no proxy may come between; or NULL */
};

/* harness_launch.c */
/* Starts the harness; the state must be H_NONE. On success STARTING, the rest comes through the waiters. */
int harness_launch(struct session *s, struct err *e);
/* The wall of a network that the start waited for stands, or could not be made. */
void harness_walled(struct session *s, const struct err *error);
void harness_arm_start(struct session *s);
/* The process cannot be used any more: everybody who waits for it gets the error, and it is killed. */
void harness_broken(struct session *s, const char *cls, const struct err *why);
void harness_stop(struct session *s);
/* Whether the harness is starting or takes its first settings. */
bool harness_is_opening(const struct session *s);
/* Calls everyone who waits for the harness; e NULL on success. */
void harness_opened(struct session *s, const struct err *e);
/* The same without any effect on turns and harness. */
void harness_answer_waiters(struct session *s, const struct err *e);
/* The harness does not come. Fails those who have waited since `before` or longer, and a session that is OPENING. */
void harness_fail_waiters(struct session *s, uint64_t before, const struct err *e);

/* harness_output.c: of struct proc_events; ctx is the session. */
int harness_on_line(void *ctx, struct slice line);
void harness_on_rest(void *ctx, struct slice rest);
/* Logs the first bytes of what the harness wrote, unless there was much of the kind just now. */
void harness_log_odd(struct session *s, const char *what, struct slice line);
/* Long lines, which a thread reads first. */
extern const struct proc_prescan harness_prescan;

/* harness_event.c */
/* The callbacks that an adapter uses. */
extern const struct harness_host_ops adapter_host_ops;
void harness_note_native(struct session *s);
void harness_put_native(const struct session *s, struct buf *ret);
/* ctx: the session, of whose journal a large event has been written, or could not be. Its readers and its harness go on. */
void harness_journal_settled(void *ctx);

/* harness_settings.c */
void settings_host_reply(void *ctx, uint64_t token, struct slice result, const struct err *e);
void settings_fail(struct session *s, const struct err *e);
/* As the harness reported them; empty: unchanged. */
void settings_store_options(struct session *s, struct slice modes, struct slice config);
/* Puts mode, a raw JSON string, into the stored SessionModeState. */
void settings_store_mode(struct session *s, struct slice mode);
/* The harness changed its options by itself: what is derived from them changes too. */
void settings_config_changed(struct session *s, struct slice config);
/* Calls to the harness; params: members configId and value. -ENOENT: the option of that category has no such value. */
int settings_set_config(struct session *s, struct slice params, session_set_fn done, void *ctx,
			struct err *e);
int settings_choose(struct session *s, const char *category, const char *name, session_set_fn done,
		    void *ctx, struct err *e);
int settings_set_mode(struct session *s, const char *mode, session_set_fn done, void *ctx,
		      struct err *e);
bool settings_has_mode(const struct session *s, const char *mode);

/* harness_configure.c */
/* The harness is open: sets what the session asked for, then reports it ready. */
void harness_configure(struct session *s);
/* The same for a running harness whose session has been given another mode. */
void harness_reconfigure(struct session *s);
void harness_open_failed(struct session *s, const struct err *e);
/* What session_open has changed holds, or is taken back: a session that was closed is closed again. */
void session_open_kept(struct session *s);
void session_open_undone(struct session *s);
/* The session's own data, as its journal has them. */
void session_put_head(struct session *s, struct buf *ret);
/* Writes them there; the last such record holds. */
void session_note_head(struct session *s);
/* The harness is killed; keys and secrets of the session are forgotten once it is gone. */
void harness_forget_keys(struct session *s);
/* It is gone. */
void harness_keys_gone(struct session *s);

/* harness_pool.c */
void harness_pool_init(struct session_store *st);
void harness_pool_done(struct session_store *st);
/* Launches the harness, or puts the session into the queue. <0: it could not be launched; e says why. */
int harness_pool_launch(struct session *s, struct err *e);
/* A place has been taken; it is given back. */
void harness_pool_began(struct session *s);
void harness_pool_ended(struct session *s);
/* Its state may have changed: is it still waiting, does anybody need it? From session_advance, for any session at any
 * time. */
void harness_pool_update(struct session *s);
/* The session goes. */
void harness_pool_forget(struct session *s);
/* Nobody needs it, so it was stopped: it is started again when it is needed. */
bool harness_is_idle(const struct session *s);
/* As many may live as things are: --harness-max, or those that do and those that memory is left for. */
unsigned harness_pool_max(struct session_store *st);
/* When the first of those who wait fails with TOO_MANY_HARNESSES; monotonic ms. Of a session that waits. */
uint64_t harness_pool_wait_due(const struct session *s);
/* -ENOSPC with TOO_MANY_SESSIONS: one more cannot be open, or be made. */
int harness_pool_admit(const struct session_store *st, bool is_new, struct err *e);
