/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub-agent: a real stdio ACP v1 agent that does what its prompt says.
 *
 * Tests script it through the text of a prompt (README.md lists the directives), benchmarks use it
 * as a load source. One process, one poll loop, no threads: every session has a queue of prompts,
 * the first of which is a small script that runs until it must wait (for time, for an answer of
 * the client, for room in stdout). So several sessions work at once and stdin is always read.
 *
 * Ownership: struct buf owns its bytes; sessions own their prompts; everything that comes from
 * cJSON is copied out before the message is freed. Allocation failure aborts: this is a test tool.
 *
 * Output: stdout is non-blocking. Lines are collected in one buffer and written once per loop turn
 * (so a small answer is one write); a line is never interleaved with another one's bytes, unless a
 * directive asks for damage.
 */
#ifndef STUB_H
#define STUB_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cjson/cJSON.h>

#define FLUSH_SIZE (64 * 1024) /* bytes per write(2) when flooding */
#define OUT_HIGH (256 * 1024)  /* scripts pause while this much waits for stdout */
#define LINGER_MS (300 * 1000) /* nothing we start or refuse to stop outlives this */

/* ---- buffers and output (out.c) ---- */

struct buf {
	char *p;
	size_t len, cap;
};

void *xcalloc(size_t n, size_t size);
char *xstrdup(const char *s);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_json(struct buf *b, const char *s); /* s as a JSON string, with quotes */
void buf_free(struct buf *b);

extern struct buf out; /* bytes that wait for stdout */
bool out_full(void);
void out_line(void); /* ends the line that was appended to out */
void out_flush(void);
void out_drain(void); /* blocking flush, before a crash */
void out_close(void);
bool out_wants_write(void);
void out_hold(int64_t until_ms); /* write nothing before this time; -1: never again */
int64_t out_held_until(void);
ssize_t out_direct(const char *p, size_t n); /* write now or queue the rest; only when !out.len */

void noise_at(const char *phase); /* what STUB_NOISE says, if this is its phase */
void reply_result(const char *id, const char *result_json);
void reply_error(const char *id, int code, const char *message, const char *data_json);
int64_t now_ms(void);

/* ---- settings (stub-agent.c) ---- */

struct settings {
	bool image, audio, embedded, no_load, no_close, resume, list, del, fork, dirs, auth;
	bool mcp_http, mcp_sse, elicit_always, no_store, early_update, usage, option_modes;
	bool init_silent, new_silent;
	int init_delay, new_delay, init_exit, new_error, protocol;
	const char *banner, *store, *init_stderr, *noise, *noise_at;
};

extern struct settings set;

struct peer { /* what initialize and authenticate told us */
	bool initialized, authenticated, cfg_boolean, elicit_form;
	char *caps_json;
};

extern struct peer peer;
extern bool ignore_term; /* SIGTERM and EOF mean nothing from now on */

/* A harness that ends only when others are told to end, too: README, "together". */
extern struct together {
	char *dir; /* NULL: not asked for */
	int n;
	volatile sig_atomic_t term; /* told by what it waits for, once its input has ended */
	bool stays, told, all;
} together;
bool together_over(void); /* what it waits for has come; false: go on */

/* ---- sessions (session.c) and their memory on disk (store.c) ---- */

enum ask_kind { ASK_NONE, ASK_PERM, ASK_PERMS, ASK_ELICIT, ASK_FS, ASK_RAW };

enum wait_kind {
	WAIT_NONE,    /* may run */
	WAIT_TIME,    /* until prompt->deadline */
	WAIT_REPLY,   /* for the client's answer to prompt->ask_id */
	WAIT_FLOOD,   /* more lines to write, as stdout has room */
	WAIT_FOREVER, /* never ends, whatever happens */
};

struct flood {
	char *block;	    /* prebuilt lines */
	size_t line, lines; /* bytes of one line, lines in the block */
	size_t digits;	    /* where the number stands in a line */
	int64_t next, last;
	bool single; /* one write per line */
};

struct prompt {
	struct prompt *next;
	char *id;   /* the request's id as JSON text */
	char *text; /* first text block */
	char *meta, *kinds,
		*content; /* _meta as JSON text; the block types; the blocks as JSON text */
	char **step;
	size_t steps, at;
	enum wait_kind wait;
	int64_t deadline, ask_id;
	enum ask_kind ask;
	char *ask_tool;
	char **perms; /* of ASK_PERMS: what each of them was answered, from ask_id on; NULL: nothing yet */
	size_t nperms;
	struct flood flood;
	bool cancelled, nocancel, dup, late, started;
	bool fixed_cancel; /* this wait ignores cancel */
	int error;
	char *error_text, *stop;
	char *usage; /* what the answer says of it, as JSON */
};

struct session {
	struct session *next;
	char *id, *cwd, *params;
	char mode[64], model[64];
	bool web;
	int64_t used, turns;
	char **past; /* earlier prompt texts */
	size_t pasts;
	struct prompt *head; /* head runs, the others wait */
};

extern struct session *sessions;

struct session *session_find(const char *id);
struct session *session_new(const char *id, const cJSON *params);
void session_free(struct session *s);
void session_remember(struct session *s, const char *text);
void session_state_json(const struct session *s, struct buf *b); /* "modes":…,"configOptions":… */
void session_config_json(const struct session *s, struct buf *b);
int session_set_mode(struct session *s, const char *mode);
int session_set_option(struct session *s, const char *id, const cJSON *value);
void session_announce(struct session *s); /* the updates after session/new */
void emit(struct session *s, bool keep, const char *update_json);
void emit_text(struct session *s, const char *text);
void emit_mode(struct session *s);
void emit_config(struct session *s);
void emit_usage(struct session *s);
void prompt_free(struct prompt *p);

bool store_usable(void);
void store_add(const struct session *s, const char *kind, const char *json);
int store_load(struct session *s, bool replay); /* 0 or -ENOENT */
void store_delete(const char *id);
void store_copy(const char *from, const char *to);
void store_list(struct buf *b, const char *cwd);

/* ---- messages (rpc.c, methods.c), scripts (script.c), damage (damage.c) ---- */

struct method {
	const char *name;
	void (*run)(const char *id, const cJSON *params);
	const bool *need; /* setting that turns it on, NULL: always */
	bool inverted;	  /* the setting turns it off */
	bool open;	  /* allowed before login */
	bool first;	  /* allowed before initialize */
};

const struct method *method_find(const char *name); /* NULL: unknown or off */
const char *string_of(const cJSON *o, const char *name);

void rpc_message(char *line, size_t len);
int64_t rpc_ask(const char *method, const char *params_json); /* returns the id */
void rpc_withdraw(int64_t id);				      /* $/cancel_request */
int64_t rpc_next_deadline(void);
void rpc_tick(void);

void script_queue(struct session *s, struct prompt *p);
void script_run(struct session *s);
void script_cancel(struct session *s, const char *prompt_id); /* NULL: all of them */
bool script_reply(int64_t id, const cJSON *msg);
int64_t script_deadline(const struct session *s); /* -1: none, 0: can run at once */

/*
 * A directive gets the rest of its segment and may set p->wait. One without an argument matches
 * only when nothing follows its name, so that ordinary sentences stay ordinary sentences.
 */
struct directive {
	const char *name;
	bool has_arg;
	void (*run)(struct session *s, struct prompt *p, char *arg);
};

extern const struct directive talk_directives[]; /* each ends with a NULL name */
extern const struct directive damage_directives[];
extern const struct directive probe_directives[];
extern const struct directive fork_directives[];
extern const struct directive perms_directives[];
char *next_word(char **arg); /* cuts the next word off, "" at the end */
char *unescape(char *text);  /* \\n, \\; and \\\\ in place */
void flood_start(struct session *s, struct prompt *p, char *arg, bool single);
void flood_run(struct prompt *p);
void ask(struct prompt *p, enum ask_kind kind, const char *method, const char *params_json);
void say(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tool_open(struct session *s, const char *id, const char *kind, const char *title);
void tool_status(struct session *s, const char *id, const char *status);
void perms_note(int64_t id); /* an answer to the request with that id has come */
bool perms_reply(struct session *s, struct prompt *p, int64_t id, const cJSON *result);
void perms_withdraw(const struct prompt *p);

#endif
