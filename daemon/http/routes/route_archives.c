/*
 * route_archives.c - /v1/archives: the archive store over HTTP. Bodies pass through in pieces, both ways.
 *
 * An upload may come in several requests: Content-Range names the part, and Upload-Offset in the answer says where the next one
 * begins. The writer hashes in a thread of its own; while its queue is full the sink waits, and so does the client. An upload
 * holds the daemon's end back (HOLD_UPLOAD), and none begins once it drains.
 */
#include "http/routes/handlers.h"

#include "base/clock.h"
#include "base/http/http_fields.h"
#include "http/request_parts.h"
#include "json/jenc.h"

/* --- what is common ------------------------------------------------------------------------------------- */

static void reply_offset(struct http_reply *ret, uint64_t offset)
{
	http_reply_header(ret, "Upload-Offset:", NUMBER_TEXT(offset));
}

static void archives_reply_failed(struct http_reply *ret, const struct err *e)
{
	static const struct reason_status rows[] = {
		{ "ARCHIVE_NOT_FOUND", 404 }, { "ARCHIVE_IN_USE", 409 },
		{ "ARCHIVE_BAKED", 403 },     { "ARCHIVE_TOO_LARGE", 413 },
		{ "STORE_FULL", 507 },	      { "NO_SPACE", 507 },
		{ "OFFSET_MISMATCH", 409 },   { "UPLOAD_IN_PROGRESS", 409 },
		{ "UPLOAD_TAKEN_OVER", 409 }, { "TOO_MANY_UPLOADS", 503 },
		{ "DIGEST_MISMATCH", 400 },   { "FORMAT_UNKNOWN", 400 },
		{ "FORMAT_MISMATCH", 400 },   { NULL, 0 },
	};

	http_reply_error(ret, http_status_of(e, rows, 500), e->reason, e->msg);
}

/* The archive that the path names; false: answered. */
static bool archives_take_digest(const struct http_call *c, struct sha256 *d,
				 struct http_reply *ret)
{
	if (sha256_parse(c->params[0], d) == 0)
		return true;
	http_reply_error(ret, 400, "DIGEST_INVALID",
			 "an archive is named sha256: and 64 hex digits");
	return false;
}

static void archives_put_digest(struct jw *w, const char hex[SHA256_HEX])
{
	jw_str(w, "digest", SHORT_TEXT(7 + SHA256_HEX, "sha256:%s", hex));
}

/* member: size, or partial of an archive that is not whole. */
static void reply_stored(struct http_reply *ret, int status, const char hex[SHA256_HEX],
			 const char *member, uint64_t bytes)
{
	struct jw w = JW(&ret->body);

	ret->status = status;
	jw_obj(&w, NULL);
	archives_put_digest(&w, hex);
	jw_uint(&w, member, bytes);
	jw_end_obj(&w);
}

/* --- the list --------------------------------------------------------------------------------------------- */

static bool archives_put_archive(void *ctx, const struct archive_info *i)
{
	struct jw *w = ctx;

	jw_obj(w, NULL);
	archives_put_digest(w, i->hex);
	if (i->whole)
		jw_uint(w, "size", i->size);
	else
		jw_uint(w, "partial", i->partial);
	if (!i->baked)
		jw_str(w, "lastUsed", CLOCK_ISO(i->used_ms));
	jw_bool(w, "pinned", i->pins > 0);
	jw_bool(w, "baked", i->baked);
	jw_end_obj(w);
	return true;
}

void http_get_archives(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	jw_obj(&w, NULL);
	jw_uint(&w, "used", archive_store_used(c->ctx->archives));
	jw_uint(&w, "limit", archive_store_max(c->ctx->archives));
	jw_arr(&w, "archives");
	archive_each(c->ctx->archives, archives_put_archive, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
}

/* --- reading one ------------------------------------------------------------------------------------------ */

static void reply_absent(struct http_reply *ret, bool part, uint64_t offset)
{
	http_reply_error(ret, 404, "ARCHIVE_NOT_FOUND",
			 part ? "the archive was not uploaded whole" : "there is no such archive");
	if (part)
		reply_offset(ret, offset);
}

void http_get_archive(const struct http_call *c, struct http_reply *ret)
{
	struct archive_info info = { .whole = false };
	struct sha256 d;
	int fd;

	if (!archives_take_digest(c, &d, ret))
		return;
	if (!archive_find(c->ctx->archives, &d, &info) || !info.whole) {
		reply_absent(ret, *info.hex, info.partial);
		return;
	}
	fd = archive_open(c->ctx->archives, &d);
	if (fd < 0) {
		reply_absent(ret, false, 0);
		return;
	}
	http_reply_file(c, ret, fd, info.size, "application/octet-stream");
}

void http_delete_archive(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);
	struct sha256 d;
	struct err e;

	if (!archives_take_digest(c, &d, ret))
		return;
	if (archive_delete(c->ctx->archives, &d, &e) < 0) {
		archives_reply_failed(ret, &e);
		return;
	}
	jw_object(&w, NULL, JW_BOOL("deleted", true));
}

/* --- writing one ------------------------------------------------------------------------------------------ */

struct upload_sink {
	struct http_sink base;
	struct archive_writer *writer;
	struct lifecycle *life; /* which it holds */
	char hex[SHA256_HEX];
	uint64_t total;		      /* of the archive, if known */
	uint64_t expect, taken;	      /* of this body */
	const char *reason, *message; /* why the body itself is wrong */
};

static enum http_take take_of(const struct upload_sink *s)
{
	static const enum http_take takes[] = {
		[ARCHIVE_OPEN] = HTTP_TAKE_MORE,     [ARCHIVE_FULL] = HTTP_TAKE_WAIT,
		[ARCHIVE_BUSY] = HTTP_TAKE_WAIT,     [ARCHIVE_DONE] = HTTP_TAKE_ANSWER,
		[ARCHIVE_FAILED] = HTTP_TAKE_ANSWER,
	};

	return s->reason ? HTTP_TAKE_ANSWER : takes[archive_writer_state(s->writer)];
}

static enum http_take sink_check(struct http_sink *base)
{
	return take_of(container_of(base, struct upload_sink, base));
}

static enum http_take sink_take(struct http_sink *base, struct slice piece)
{
	struct upload_sink *s = container_of(base, struct upload_sink, base);

	/* taken never exceeds expect, so the difference does not wrap. */
	if (s->expect != ARCHIVE_SIZE_UNKNOWN && piece.n > s->expect - s->taken) {
		s->reason = "BODY_TOO_LONG";
		s->message = "the body is longer than Content-Range says";
		return HTTP_TAKE_ANSWER;
	}
	s->taken += piece.n;
	archive_writer_add(s->writer, piece);
	return take_of(s);
}

static enum http_take sink_end(struct http_sink *base)
{
	struct upload_sink *s = container_of(base, struct upload_sink, base);

	if (s->expect != ARCHIVE_SIZE_UNKNOWN && s->taken < s->expect) {
		s->reason = "BODY_TOO_SHORT";
		s->message = "the body is shorter than Content-Range says";
		return HTTP_TAKE_ANSWER;
	}
	if (s->total != ARCHIVE_SIZE_UNKNOWN && archive_writer_offset(s->writer) < s->total)
		return HTTP_TAKE_ANSWER; /* the rest comes in other requests */
	archive_writer_finish(s->writer);
	return take_of(s);
}

static void sink_answer(struct http_sink *base, struct http_reply *ret)
{
	struct upload_sink *s = container_of(base, struct upload_sink, base);
	enum archive_writer_state state = archive_writer_state(s->writer);

	if (s->reason) {
		http_reply_error(ret, 400, s->reason, s->message);
	} else if (state == ARCHIVE_FAILED) {
		archives_reply_failed(ret, archive_writer_error(s->writer));
	} else if (state == ARCHIVE_DONE) {
		reply_stored(ret, 201, s->hex, "size", archive_writer_offset(s->writer));
	} else {
		reply_stored(ret, 202, s->hex, "partial", archive_writer_offset(s->writer));
		reply_offset(ret, archive_writer_offset(s->writer));
	}
}

static void archives_sink_free(struct http_sink *base)
{
	struct upload_sink *s = container_of(base, struct upload_sink, base);

	archive_writer_release(s->writer);
	lifecycle_release(s->life, HOLD_UPLOAD);
	free(s);
}

static const struct http_sink_ops sink_ops = { sink_take, sink_end, sink_check, sink_answer,
					       archives_sink_free };

static void on_writer(void *ctx)
{
	struct upload_sink *s = ctx;

	http_sink_wake(&s->base);
}

/* "application/gzip; charset=binary" -> "application/gzip" */
static struct slice media_type(struct slice s)
{
	struct slice type = SLICE_NONE;

	slice_item(&s, ';', &type);
	return slice_trim(type, " \t");
}

static bool take_format(const struct http_call *c, enum archive_format *f, struct http_reply *ret)
{
	static const struct {
		const char *type;
		enum archive_format format;
	} rows[] = {
		{ "", ARCHIVE_UNKNOWN },
		{ "application/octet-stream", ARCHIVE_UNKNOWN },
		{ "application/x-www-form-urlencoded", ARCHIVE_UNKNOWN }, /* curl --data-binary */
		{ "application/x-tar", ARCHIVE_TAR },
		{ "application/gzip", ARCHIVE_TAR_GZ },
		{ "application/zstd", ARCHIVE_TAR_ZST },
		{ "application/zip", ARCHIVE_ZIP },
	};
	struct slice type = media_type(c->rq->content_type);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!http_word_is(type, rows[i].type))
			continue;
		*f = rows[i].format;
		return true;
	}
	http_reply_error(
		ret, 415, "CONTENT_TYPE_UNSUPPORTED",
		"Content-Type is one of application/x-tar, application/gzip, application/zstd, "
		"application/zip, application/octet-stream");
	return false;
}

/* Reads from the headers which bytes of how many the body has. expect: its length. */
static bool take_range(const struct http_call *c, struct archive_upload *up, uint64_t *expect,
		       struct http_reply *ret)
{
	const struct http_request *rq = c->rq;
	struct content_range range;

	*expect = rq->body == FRAMING_LENGTH ? rq->length : ARCHIVE_SIZE_UNKNOWN;
	if (rq->body == FRAMING_NONE) {
		http_reply_error(ret, 411, "LENGTH_REQUIRED",
				 "a body with Content-Length or in chunks is needed");
		return false;
	}
	up->total = *expect;
	if (!rq->content_range.n)
		return true;
	if (content_range_parse(rq->content_range, &range) < 0 ||
	    (*expect != ARCHIVE_SIZE_UNKNOWN && *expect != range.count)) {
		http_reply_error(
			ret, 400, "CONTENT_RANGE_INVALID",
			"Content-Range is \"bytes N-M/T\" with the body's length, or \"bytes */T\" "
			"with an empty body");
		return false;
	}
	up->resume = true;
	up->offset = range.first;
	up->total = range.total;
	*expect = range.count;
	return true;
}

void http_put_archive(const struct http_call *c, struct http_reply *ret)
{
	struct archive_upload up = { .resume = false };
	struct archive_info info = { .whole = false };
	struct upload_sink *s;
	uint64_t expect;
	struct err e;

	if (!archives_take_digest(c, &up.digest, ret) || !take_format(c, &up.format, ret) ||
	    !take_range(c, &up, &expect, ret))
		return;
	/* Before the drain is checked: an archive that exists needs no upload. */
	if (archive_find(c->ctx->archives, &up.digest, &info) && info.whole) {
		reply_stored(ret, 200, info.hex, "size", info.size);
		return;
	}
	if (lifecycle_draining(c->ctx->life)) {
		http_reply_error(ret, 503, "DRAINING",
				 "the daemon is about to end and takes no new upload");
		http_retry_after(c, ret);
		return;
	}
	s = new0(struct upload_sink);
	s->writer = archive_writer_open(c->ctx->archives, &up, on_writer, s, &e);
	if (!s->writer) {
		free(s);
		archives_reply_failed(ret, &e);
		/* part of it is there: the client may go on from its end */
		if (*info.hex)
			reply_offset(ret, info.partial);
		return;
	}
	s->base.ops = &sink_ops;
	s->life = c->ctx->life;
	lifecycle_hold(s->life, HOLD_UPLOAD);
	sha256_hex(&up.digest, s->hex);
	s->total = up.total;
	s->expect = expect;
	ret->sink = &s->base;
}
