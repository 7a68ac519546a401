/*
 * call_recording.c - appends a session's model calls to runs/<id>/model/calls.ndjson, without
 * secrets.
 *
 * A recording must never fail a call: every error stops the recording instead. The last line of the
 * file is then the reason; MARK_ROOM reserves its space. `bytes` is the end of the last complete
 * line; recording_stop truncates to it, and a reopened file is truncated to its last newline. Lines of
 * concurrent calls interleave, each with its call id.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "base/format/utf8.h"
#include "digest/base64.h"
#include "json/jstr.h"
#include "session/core/session_paths.h"
#include "session/parts/model/session_model_internal.h"
#include "session/core/redact/redact_internal.h"

/* A line may be as long as a request, with all of it escaped. */
#define RECORD_LINE_MAX (4 * (size_t)MODEL_BODY_MAX)
#define MARK_ROOM 64 /* for the line that says why it was stopped */

static const char *const reasons[] = { "RECORD_MAX", "NO_SPACE", "STATE_NOT_WRITABLE" };

static void recording_put_mark(struct buf *b, const char *reason)
{
	buf_printf(b, "{\"type\":\"stopped\",\"reason\":\"%s\"}\n", reason);
}

static bool ends_with_mark(int fd, off_t size, const char *reason)
{
	_cleanup_(buf_done) struct buf mark = { 0 };
	char last[MARK_ROOM];
	size_t n;

	recording_put_mark(&mark, reason);
	n = buf_len(&mark);
	return size >= (off_t)n && n <= sizeof(last) &&
	       pread(fd, last, n, size - (off_t)n) == (ssize_t)n && memcmp(last, mark.data, n) == 0;
}

const char *call_record_stopped(int fd)
{
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (ends_with_mark(fd, sb.st_size, reasons[i]))
			return reasons[i];
	return NULL;
}

/* --- it stops ------------------------------------------------------------------------------------------------- */

/* A harness that is gone has no call that anybody could miss. */
static void recording_report_stop(struct session *s, const char *reason)
{
	JW_BUF(w, b);

	log_warn("model", "the recording of a session's model calls was stopped", "session", s->id,
		 "reason", reason);
	if (!s->harness.proc)
		return;
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "recording_stopped");
	jw_str(&w, "reason", reason);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

static void recording_stop(struct session *s, const char *reason)
{
	_cleanup_(buf_done) struct buf mark = { 0 };
	struct recording *r = &model_of(s)->recording;

	r->stopped = reason;
	recording_put_mark(&mark, reason);
	if (r->open && ftruncate(r->fd, (off_t)r->bytes) == 0) /* half of a line may be there */
		file_write_all(r->fd, mark.data, buf_len(&mark));
	call_record_close(s);
	recording_report_stop(s, reason);
}

static void recording_fail(struct session *s, int r)
{
	recording_stop(s, r == -ENOSPC || r == -EDQUOT ? "NO_SPACE" : "STATE_NOT_WRITABLE");
}

/* --- its file ------------------------------------------------------------------------------------------------- */

/* Where the last whole line ends: a daemon that was killed may have left half of one. */
static off_t whole_lines(int fd, off_t end)
{
	char piece[4096];
	const char *last;

	while (end > 0) {
		size_t n = MIN((size_t)end, sizeof(piece));

		if (pread(fd, piece, n, end - (off_t)n) != (ssize_t)n)
			return 0;
		last = memrchr(piece, '\n', n);
		end -= (off_t)n;
		if (last)
			return end + (last - piece) + 1;
	}
	return 0;
}

/* bytes is the end of the file from here on: all later writes are counted. */
static int recording_cut_partial_line(struct recording *r)
{
	struct stat sb;
	off_t end;

	if (fstat(r->fd, &sb) < 0)
		return -errno;
	end = whole_lines(r->fd, sb.st_size);
	r->bytes = (uint64_t)end;
	return end < sb.st_size && ftruncate(r->fd, end) < 0 ? -errno : 0;
}

static int open_file(struct session *s, struct recording *r)
{
	_cleanup_(freep) char *dir = paths_run(s->store, s->id, "model"),
			      *path = file_join(dir, "calls.ndjson");
	int made = file_mkdirs(dir, 0700);

	if (made < 0)
		return made;
	r->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->fd < 0)
		return -errno;
	r->open = true;
	return recording_cut_partial_line(r);
}

/* True: lines can be written. The first call opens the file. One that ends with a mark stays stopped, also for the next
 * daemon. */
static bool recording_is_ready(struct session *s)
{
	struct recording *r = &model_of(s)->recording;
	int e;

	if (!s->store->journal || !s->store->terms.record_max || r->stopped)
		return false;
	if (r->open)
		return true;
	e = open_file(s, r);
	if (e < 0) {
		recording_fail(s, e);
		return false;
	}
	r->stopped = call_record_stopped(r->fd);
	if (r->stopped)
		call_record_close(s);
	return r->open;
}

void call_record_close(struct session *s)
{
	struct recording *r = &model_of(s)->recording;

	if (r->open)
		close(r->fd);
	r->open = false;
}

/* --- its lines ------------------------------------------------------------------------------------------------- */

/* True: so many bytes more can be in it; else it has been stopped. */
static bool recording_has_room(struct session *s, size_t n)
{
	if (n <= RECORD_LINE_MAX &&
	    model_of(s)->recording.bytes + n + MARK_ROOM <= s->store->terms.record_max)
		return true;
	recording_stop(s, "RECORD_MAX");
	return false;
}

static struct jw line_begin(const struct provider_call *c, struct buf *b, const char *type)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "type", type);
	jw_str(&w, "call", c->id);
	jw_str(&w, "ts", CLOCK_ISO(clock_real_ms()));
	return w;
}

static void line_end(struct provider_call *c, struct jw *w)
{
	struct session *s = c->session;
	struct recording *r = &model_of(s)->recording;
	int e;

	jw_end_obj(w);
	buf_putc(w->b, '\n');
	if (w->b->failed) {
		recording_fail(s, -ENOMEM);
		return;
	}
	if (!recording_has_room(s, buf_len(w->b)))
		return;
	e = file_write_all(r->fd, w->b->data, buf_len(w->b));
	if (e < 0)
		recording_fail(s, e);
	else
		r->bytes += buf_len(w->b);
}

/* Its text is whole: nothing of it stands in two lines. */
static void record_put_path(struct jw *w, const struct session *s, struct slice path)
{
	_cleanup_(freep) char *text = xstrndup(path.p, path.n);

	session_mask_string(s, &text);
	jw_str(w, "path", text);
}

static void record_put_request(const struct provider_call *c, struct jw *w)
{
	_cleanup_(buf_done) struct buf hidden = { .max = RECORD_LINE_MAX };
	const struct model_request *r = model_call_request(c->call);
	const struct session *s = c->session;

	jw_str(w, "api", model_api_name(r->api));
	jw_slice(w, "method", r->method);
	record_put_path(w, s, r->path);
	if (r->body.n)
		jw_slice(w, "body", session_mask_json(s, r->body, false, NULL, &hidden));
	w->b->failed |= hidden.failed;
}

/* Only the first attempt has the request: the others ask the same. */
void call_record_begin(struct provider_call *c)
{
	_cleanup_(buf_done) struct buf b = { .max = RECORD_LINE_MAX };
	bool again = c->trace.recorded;
	struct jw w;

	if (!recording_is_ready(c->session) ||
	    !recording_has_room(c->session, model_call_request(c->call)->body.n))
		return;
	c->trace.recorded = true;
	/* Each attempt has an answer of its own. */
	masked_answer_free(c->trace.answer);
	c->trace.answer = masked_answer_new();
	w = line_begin(c, &b, again ? "again" : "request");
	jw_uint(&w, "attempt", c->attempt);
	if (c->turn)
		jw_uint(&w, "turn", c->turn);
	if (!again)
		record_put_request(c, &w);
	line_end(c, &w);
}

static bool call_is_recorded(const struct provider_call *c)
{
	return c->trace.recorded && model_of(c->session)->recording.open;
}

static void record_end_line(struct provider_call *c, const char *how, const char *reason)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = line_begin(c, &b, "end");

	jw_str(&w, "how", how);
	jw_str(&w, "reason", reason);
	line_end(c, &w);
}

void call_record_forget(struct provider_call *c)
{
	c->trace.answer = masked_answer_free(c->trace.answer);
	c->trace.recorded = false;
}

/* In the rest of the answer secrets could not be found. */
static void record_give_up(struct provider_call *c)
{
	record_end_line(c, "failed", "ANSWER_NOT_RECORDED");
	call_record_forget(c);
}

static void put_headers(struct jw *w, struct slice headers)
{
	jw_obj(w, "headers");
	jobj_each(name, v, headers)
		if (model_answer_header_passes(name))
			jw_member_raw(w, name, v.raw);
	jw_end_obj(w);
}

/* Compressed, though that was not asked for. */
static bool is_encoded(struct slice headers)
{
	jobj_each(name, v, headers)
		if (http_word_is(name, "content-encoding") && !jstr_is(v, "identity"))
			return true;
	return false;
}

void call_record_head(struct provider_call *c, int status, struct slice headers)
{
	_cleanup_(buf_done) struct buf b = { .max = RECORD_LINE_MAX },
				       hidden = { .max = RECORD_LINE_MAX };
	struct jw w;

	if (!call_is_recorded(c))
		return;
	w = line_begin(c, &b, "head");
	jw_int(&w, "status", status);
	put_headers(&w, session_mask_json(c->session, headers, false, NULL, &hidden));
	line_end(c, &w);
	/* Compressed bytes cannot be searched for secrets. */
	if (c->session->redact.known.mask && is_encoded(headers) && call_is_recorded(c))
		record_give_up(c);
}

/* Readable text where it is UTF-8, otherwise base64. */
static void record_put_bytes(struct jw *w, struct slice bytes)
{
	_cleanup_(buf_done) struct buf b64 = { .max = RECORD_LINE_MAX };

	if (utf8_valid(bytes)) {
		jw_slice(w, "text", bytes);
		return;
	}
	base64_encode(bytes, &b64);
	jw_slice(w, "b64", buf_slice(&b64));
}

static void record_data_line(struct provider_call *c, struct slice bytes)
{
	_cleanup_(buf_done) struct buf b = { .max = RECORD_LINE_MAX };
	struct jw w;

	if (!bytes.n)
		return;
	w = line_begin(c, &b, "data");
	record_put_bytes(&w, bytes);
	line_end(c, &w);
}

void call_record_data(struct provider_call *c, struct slice bytes)
{
	_cleanup_(buf_done) struct buf hidden = { .max = RECORD_LINE_MAX };

	if (!call_is_recorded(c))
		return;
	masked_answer_add(c->trace.answer, c->session->redact.known.mask, bytes, &hidden);
	record_data_line(c, buf_slice(&hidden));
	if (call_is_recorded(c) && c->trace.answer->stopped)
		record_give_up(c);
}

/* At the end the bytes are released that could have been the start of a secret. */
void call_record_end(struct provider_call *c, const char *how, const char *reason)
{
	_cleanup_(buf_done) struct buf hidden = { .max = RECORD_LINE_MAX };

	if (call_is_recorded(c)) {
		masked_answer_end(c->trace.answer, c->session->redact.known.mask, &hidden);
		record_data_line(c, buf_slice(&hidden));
	}
	if (call_is_recorded(c) && c->trace.answer->stopped)
		record_give_up(c);
	else if (call_is_recorded(c))
		record_end_line(c, how, reason);
	call_record_forget(c);
}
