/*
 * cmd_replay.c - `acpd bundle replay`: an ACP agent on standard input and output that has one session, that of a bundle. A
 * client that loads it (or asks for a new one) is sent what was sent when it ran, in the same order, --speed times as fast;
 * then the request is answered. No daemon, no harness.
 *
 * A bundle is untrusted. acpd-unpack extracts it into a temporary directory and compares sizes and hashes with its manifest;
 * only then are its members read here, and each event compared with what a daemon writes.
 */
#include "acp/acp_server.h"
#include "cli/archive/archive.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "proc/output/lines.h"
#include "rpc/rpc.h"
#include "session/parts/bundle/bundle_events.h"
#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"

#include <sys/epoll.h>

struct replay {
	const struct config *cfg;
	struct loop *loop;
	struct loop_io in;
	struct lines lines;
	char *dir, *id, *cwd, *title;
	unsigned client; /* client_cap bits */
	FILE *journal;
	char *line; /* of the journal, the next to be sent; NULL: none */
	size_t room;
	struct buf record;
	struct bundle_events events;
	uint64_t sent_ms; /* when the last that was sent came, by the clock of the run */
	struct loop_timer timer;
	char *asked; /* raw id of the request that is answered at the end; NULL: nothing is replayed */
	int code;
};

static void replay_finish(struct replay *r, int code)
{
	r->code = code;
	loop_quit(r->loop);
}

static void replay_put_line(struct replay *r, struct slice text)
{
	if (file_write_all(STDOUT_FILENO, text.p, text.n) < 0 ||
	    file_write_all(STDOUT_FILENO, "\n", 1) < 0)
		replay_finish(r, EXIT_FAILED); /* our client is gone */
}

static void replay_answer(struct replay *r, struct slice id, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_result(&b, id, result);
	replay_put_line(r, buf_slice(&b));
}

static void replay_refuse(struct replay *r, struct slice id, int rpc, const char *reason,
			  const char *text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e;

	err_set(&e, -EINVAL, rpc, reason, "%s", text);
	rpc_put_error(&b, id, &e, SLICE_NONE);
	replay_put_line(r, buf_slice(&b));
}

/* --- the run ------------------------------------------------------------------------------------------------- */

static void end_replay(struct replay *r)
{
	_cleanup_(freep) char *id = TAKE_PTR(r->asked);

	loop_timer_cancel(&r->timer);
	if (id)
		replay_answer(r, slice_of(id), SLICE("{}"));
}

/* The next event that this client is shown, in record; false: there is none. */
static bool replay_next_event(struct replay *r, struct journal_record *ret)
{
	ssize_t n;
	struct err e;

	while ((n = getline(&r->line, &r->room, r->journal)) > 0) {
		const struct event_kind_row *row;

		buf_reset(&r->record);
		if (r->line[n - 1] != '\n' ||
		    bundle_events_take(&r->events, (struct slice){ r->line, (size_t)n - 1 },
				       &r->record, &e) < 0 ||
		    journal_record_parse((struct slice){ r->record.data, r->record.len - 1 }, ret) <
			    0) {
			replay_finish(r, fail(EXIT_FAILED, "BUNDLE_INVALID: journal.ndjson"));
			return false;
		}
		/* What is only for clients that were there then, or that this client did not ask for, is left out. */
		row = event_kind_row(ret->kind);
		if (!(row->flags & EVENT_F_LIVE) && (row->needs & r->client) == row->needs)
			return true;
	}
	return false;
}

static uint64_t replay_wait_ms(const struct replay *r, uint64_t time_ms)
{
	if (!r->cfg->speed || !r->sent_ms || time_ms <= r->sent_ms)
		return 0;
	return (time_ms - r->sent_ms) / (uint64_t)r->cfg->speed;
}

static void replay_send_event(void *ctx)
{
	struct journal_record rec;
	struct replay *r = ctx;
	uint64_t ms = 0;

	if (journal_record_parse((struct slice){ r->record.data, r->record.len - 1 }, &rec) == 0)
		replay_put_line(r, rec.value);
	r->sent_ms = rec.time_ms;
	/* Events that are due at once go out in one turn of the loop; the next that is not waits for the timer. */
	while (!ms && replay_next_event(r, &rec)) {
		ms = replay_wait_ms(r, rec.time_ms);
		if (ms)
			break;
		replay_put_line(r, rec.value);
		r->sent_ms = rec.time_ms;
	}
	if (ms)
		loop_timer_set(r->loop, &r->timer, ms, replay_send_event, r);
	else
		end_replay(r);
}

static void begin_replay(struct replay *r, struct slice id)
{
	struct journal_record rec;

	rewind(r->journal);
	/* Each load replays from the beginning, with a fresh check of the sequence. */
	r->events = (struct bundle_events){ .session_id = r->id };
	r->sent_ms = 0;
	r->asked = xstrndup(id.p, id.n);
	if (replay_next_event(r, &rec))
		replay_send_event(r);
	else
		end_replay(r);
}

/* --- requests -------------------------------------------------------------------------------------------------- */

static void replay_initialize(struct replay *r, const struct rpc_msg *m)
{
	JW_BUF(w, b);

	r->client = acp_client_caps(jobj_get(m->params, "clientCapabilities").raw);
	jw_obj(&w, NULL);
	jw_int(&w, "protocolVersion", 1);
	jw_raw(&w, "agentCapabilities",
	       SLICE("{\"loadSession\":true,\"sessionCapabilities\":{\"list\":{}}}"));
	jw_raw(&w, "authMethods", SLICE("[]"));
	jw_self(&w, "agentInfo", "acpd-replay", NULL);
	jw_end_obj(&w);
	replay_answer(r, m->id, buf_slice(&b));
}

static void replay_list(struct replay *r, const struct rpc_msg *m)
{
	JW_BUF(w, b);

	jw_object(&w, NULL,
		  JW_ARR("sessions", JW_STR("sessionId", r->id), JW_STR("cwd", r->cwd),
			 JW_STR("title", r->title)));
	replay_answer(r, m->id, buf_slice(&b));
}

static void replay_load(struct replay *r, const struct rpc_msg *m)
{
	if (r->asked)
		replay_refuse(r, m->id, RPC_INVALID_REQUEST, "SESSION_BUSY",
			      "the run is being replayed");
	else if (!jstr_is(jobj_get(m->params, "sessionId"), r->id))
		replay_refuse(r, m->id, RPC_NOT_FOUND, "SESSION_NOT_FOUND",
			      "the bundle is of another session");
	else
		begin_replay(r, m->id);
}

/* Prompts and new sessions: nothing can be run. */
static void replay_refuse_prompt(struct replay *r, const struct rpc_msg *m)
{
	replay_refuse(r, m->id, RPC_INVALID_REQUEST, "SESSION_IMPORTED",
		      "the session is that of a bundle: it can be read, and nothing else");
}

static const struct {
	const char *method;
	void (*fn)(struct replay *r, const struct rpc_msg *m);
} methods[] = {
	{ "initialize", replay_initialize },	 { "session/list", replay_list },
	{ "session/load", replay_load },	 { "session/prompt", replay_refuse_prompt },
	{ "session/new", replay_refuse_prompt },
};

static void replay_take_line(struct replay *r, struct slice line)
{
	struct rpc_msg m;
	struct err e;

	if (!line.n || rpc_parse(line, &m, &e) != RPC_PARSED)
		return;
	/* A cancelled replay answers its request at once, with what was sent so far. */
	if (m.kind == RPC_NOTIFICATION && strcmp(m.method, "session/cancel") == 0)
		end_replay(r);
	if (m.kind != RPC_REQUEST)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (strcmp(m.method, methods[i].method) != 0)
			continue;
		methods[i].fn(r, &m);
		return;
	}
	replay_refuse(r, m.id, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND", "Method not found");
}

static void on_replay_stdin(void *ctx, uint32_t events _unused_)
{
	struct replay *r = ctx;
	char *space = lines_space(&r->lines, CHILD_READ_BYTES);
	ssize_t n = space ? read(r->in.fd, space, CHILD_READ_BYTES) : 0;
	struct slice line;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		replay_finish(r, EXIT_DONE);
		return;
	}
	lines_filled(&r->lines, (size_t)n);
	while (lines_next(&r->lines, &line) > 0)
		replay_take_line(r, line);
}

/* --- the bundle -------------------------------------------------------------------------------------------------- */

/* EXIT_DONE, or the exit code; the reason has been printed then. */
static int unpack_bundle(const struct config *c, const char *dir)
{
	struct config quietly = *c; /* what acpd-unpack answers is no answer of the command */
	_cleanup_(freep) char *archive = cli_absolute(c->args[0]);
	JW_BUF(w, job);
	int r;

	quietly.json = false;
	bundle_put_extract(&w, dir, archive, NULL);
	r = run_unpack(&quietly, "extract", buf_slice(&job), NULL);
	if (r != EXIT_DONE)
		return r;
	buf_reset(&job);
	w = (struct jw)JW(&job);
	jw_object(&w, NULL, JW_STR("root", dir));
	return run_unpack(&quietly, "bundle-check", buf_slice(&job), NULL);
}

static int read_session_file(struct replay *r, const char *path)
{
	_cleanup_(buf_done) struct buf text = { .max = BUNDLE_SESSION_MAX };
	struct jval v;

	if (file_read(path, BUNDLE_SESSION_MAX, &text) < 0 ||
	    jscan_value(buf_slice(&text), &v) != JSCAN_OK || v.type != J_OBJECT ||
	    jstr_decode(jobj_get(v.raw, "sessionId"), RPC_ID_MAX, &r->id) < 0 ||
	    jstr_decode(jobj_get(v.raw, "cwd"), PATH_BYTES_MAX, &r->cwd) < 0)
		return fail(EXIT_FAILED, "BUNDLE_INVALID: session.json");
	jstr_decode(jobj_get(v.raw, "title"), 64 * KIB, &r->title);
	return EXIT_DONE;
}

static int replay_open(struct replay *r)
{
	_cleanup_(freep) char *in = NULL, *session = NULL, *journal = NULL;
	const char *tmp = getenv("TMPDIR");
	int code;

	r->dir = file_join(tmp && *tmp ? tmp : "/tmp", "acpd-bundle.XXXXXX");
	if (!mkdtemp(r->dir))
		return fail(EXIT_FAILED, "%s: %s", r->dir, strerror(errno));
	in = file_join(r->dir, "in");
	session = file_join(in, "session.json");
	journal = file_join(in, "journal.ndjson");
	code = unpack_bundle(r->cfg, in);
	if (code == EXIT_DONE)
		code = read_session_file(r, session);
	if (code != EXIT_DONE)
		return code;
	r->journal = fopen(journal, "re");
	return r->journal ? EXIT_DONE : fail(EXIT_FAILED, "BUNDLE_INVALID: journal.ndjson");
}

static int replay_serve(struct replay *r)
{
	r->loop = loop_new();
	r->in = (struct loop_io){ .fd = STDIN_FILENO, .fn = on_replay_stdin, .ctx = r };
	lines_init(&r->lines, LINE_MAX_BYTES);
	r->record.max = BUF_MAX_DEFAULT;
	/* A regular file cannot be polled, and its end would come before the replay has. */
	if (loop_io_set(r->loop, &r->in, EPOLLIN) < 0)
		return fail(EXIT_USAGE, "standard input must be a pipe, a socket or a terminal");
	loop_run(r->loop);
	loop_io_set(r->loop, &r->in, 0);
	loop_timer_cancel(&r->timer);
	return r->code;
}

int cmd_bundle_replay(const struct config *c)
{
	struct replay r = { .cfg = c };
	int code = replay_open(&r);

	if (code == EXIT_DONE)
		code = replay_serve(&r);
	file_remove_tree(r.dir);
	if (r.journal)
		fclose(r.journal);
	if (r.loop)
		loop_free(r.loop);
	lines_done(&r.lines);
	buf_done(&r.record);
	free_each(r.dir, r.line, r.asked, r.id, r.cwd, r.title);
	return code;
}
