/*
 * ui.h - `acpd ui`: the run viewer on the loopback for one user's browser: its files, and the way from them to a daemon that may be
 * anywhere, with the headers that a browser cannot send.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/http/http_message.h"
#include "loop/acceptor.h"
#include "net/client/raw_client.h"

#define UI_SECRET_BYTES 16

/* --- ui_target.c: where requests are passed to, and what is added to them: --url, --token-file and --header, read once ------ */

struct ui_target {
	char *host; /* without brackets */
	int port;
	bool tls;
	char *authority;   /* for the field Host */
	char *base;	   /* path before all others, without a slash at its end; "" or "/…" */
	struct buf fields; /* lines that go with each request, each with CRLF; a secret */
};

/* ws://, wss://, http:// or https://; the path may end in /acp or /ui. token may be empty; headers: "Name: value", a line
 * each, or NULL. -EINVAL with e naming the option. */
int ui_target_read(struct ui_target *t, const char *url, struct slice token, const char *headers,
		   struct err *e);
void ui_target_done(struct ui_target *t);

/* --- ui_server.c: the command and its listener ---------------------------------------------------------------------------- */

struct ui_server {
	struct loop *loop;
	const struct ui_target *target;
	const char *dir;
	struct raw_client *daemon;
	struct acceptor acceptor;
	char secret[2 * UI_SECRET_BYTES + 1];
	char address[128];
	char hosts[2][32]; /* what Host may say */
	struct list visits;
	unsigned nvisits;
};

enum ui_visit_state {
	UI_VISIT_HEAD, /* a request is awaited */
	UI_VISIT_PASS, /* it goes to the daemon, and the answer comes back */
	UI_VISIT_DONE, /* our answer goes out; nothing is read that matters */
};

/* One connection of a browser, for one request. */
struct ui_visit {
	struct list link;
	struct ui_server *server;
	struct loop_timer timer;
	struct loop_task dead;
	enum ui_visit_state state;
	bool asks_upgrade, is_head, crowded;
	bool open, answered, is_tunnel; /* the daemon's side */
	bool ended;
	struct buf in, out; /* from the browser; to it */
	struct buf ask,
		head; /* to the daemon, until it is reached; its answer, until its head is whole */
	struct raw_stream *browser, *up;
	struct message_body sent, got;
};

/* --- ui_visit.c --- */
void ui_visit_begin(struct ui_server *s, int fd, bool crowded);
/* It is freed at the end of the turn. */
void ui_visit_end(struct ui_visit *v);
/* v->out is all: it ends when that has gone. */
void ui_visit_finish(struct ui_visit *v);
/* Writes what there is, as far as the browser takes it, and reads as far as the daemon does. */
void ui_visit_flow(struct ui_visit *v);

/* --- ui_daemon.c: the daemon's side of a visit --- */
void ui_daemon_ask(struct ui_visit *v, const struct http_request_head *h, struct slice path);
/* v->in has more. */
void ui_daemon_more(struct ui_visit *v);
/* What goes to the daemon has not gone. */
bool ui_daemon_is_full(const struct ui_visit *v);

/* --- ui_answer.c: what is answered without the daemon --- */
/* NULL: the rest of its path is in *path. Else one of our refusals. */
const struct ui_refusal *ui_admit(const struct ui_server *s, const struct http_request_head *h,
				  struct slice *path);
bool ui_is_own(struct slice path);
void ui_answer_own(struct ui_visit *v, const struct http_request_head *h, struct slice path);
struct ui_refusal {
	int status;
	const char *reason, *message;
};
/* detail: more words, or NULL. */
void ui_refuse(struct ui_visit *v, const struct ui_refusal *why, const char *detail);

extern const struct ui_refusal ui_bad_request, ui_crowded, ui_daemon_away, ui_daemon_lost,
	ui_daemon_silent, ui_daemon_strange;

/* --- ui_pass.c: the heads of what is passed on: a request as the daemon gets it, an answer as the browser gets it --- */

/* It asks for a WebSocket. */
bool ui_pass_is_upgrade(const struct http_request_head *h);
/* path: what is asked for, behind the target's own. Appends the head with its empty line. */
void ui_pass_request(const struct http_request_head *h, struct slice path,
		     const struct ui_target *t, struct buf *ret);
/* tunnel: it is 101. The same. */
void ui_pass_answer(const struct http_head *h, bool tunnel, struct buf *ret);
