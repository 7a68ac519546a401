/*
 * masked_stream.c - text that a model writes piece by piece. A secret that arrives in two pieces is in neither, so what
 * may be the beginning of one at the end of a piece is held back until the next says whether it is.
 *
 * Held is never more than the longest secret in its longest form, and nothing that cannot become one. It goes out
 * before any other event of the session and before the turn's end, so that the order stays and no number is left out;
 * there is no clock, since what is held stays a possible secret however long the model is silent. What had to go out
 * for that reason is remembered: if the rest of the secret comes after all, that much of it is hidden.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"

struct masked_stream {
	enum harness_update kind;
	char *message;	   /* raw messageId; NULL: none */
	char *head, *rest; /* of the update, around the text of the newest piece */
	char *meta;	   /* raw; NULL: none */
	struct buf text;   /* raw, as between quotes */
	size_t shown;	   /* of it, already sent */
};

static bool streams(enum harness_update kind)
{
	return kind == UPDATE_AGENT_CHUNK || kind == UPDATE_THOUGHT_CHUNK ||
	       kind == UPDATE_COMPACTION_CHUNK || kind == UPDATE_SESSION_MESSAGE_CHUNK;
}

static struct masked_stream *stream_free(struct masked_stream *st)
{
	if (!st)
		return NULL;
	free_each(st->message, st->head, st->rest, st->meta);
	buf_done(&st->text);
	free(st);
	return NULL;
}

/* A piece of text within an update. */
struct stream_piece {
	enum harness_update kind;
	struct slice message, head, text, rest, meta;
};

static bool take_piece(const struct harness_event *ev, struct stream_piece *p)
{
	struct jslot content[] = { { .key = "type" }, { .key = "text" } };
	struct jslot top[] = { { .key = "content", .sub = content, .nsub = ARRAY_SIZE(content) },
			       { .key = "messageId" } };
	const char *end = ev->update.p + ev->update.n;
	struct slice text;

	if (!streams(ev->kind) || jscan_object(ev->update, top, ARRAY_SIZE(top)) != JSCAN_OK ||
	    content[1].v.type != J_STRING)
		return false;
	text = (struct slice){ content[1].v.raw.p + 1, content[1].v.raw.n - 2 };
	*p = (struct stream_piece){ ev->kind,
				    top[1].v.raw,
				    { ev->update.p, (size_t)(text.p - ev->update.p) },
				    text,
				    { text.p + text.n, (size_t)(end - (text.p + text.n)) },
				    ev->meta };
	return true;
}

static void raw_set(char **slot, struct slice s)
{
	if (slice_is(s, *slot ? *slot : ""))
		return;
	free(*slot);
	*slot = s.n ? xstrndup(s.p, s.n) : NULL;
}

static bool stream_continues(const struct masked_stream *st, const struct stream_piece *p)
{
	return st->kind == p->kind && slice_is(p->message, st->message ? st->message : "");
}

static void emit_text(struct session *s, const struct stream_piece *p, struct slice text)
{
	_cleanup_(buf_done) struct buf b = { .max = s->store->scratch.max };

	if (!text.n)
		return;
	buf_add_slice(&b, p->head);
	buf_add_slice(&b, text);
	buf_add_slice(&b, p->rest);
	event_emit_update(s, p->kind, buf_slice(&b), p->meta);
}

void masked_stream_flush(struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct masked_stream *st = s->log.stream;
	size_t from = st ? st->shown : 0;
	struct stream_piece p;

	if (!st || from == buf_len(&st->text))
		return;
	/* The text stays, marked as sent: if it turns out to begin a secret, the rest of that is still hidden. */
	st->shown = buf_len(&st->text);
	mask_put(s->redact.known.mask, buf_slice(&st->text), true, from, NULL, &b);
	p = (struct stream_piece){ .kind = st->kind,
				   .head = slice_of(st->head),
				   .rest = slice_of(st->rest),
				   .meta = slice_of(st->meta) };
	emit_text(s, &p, buf_slice(&b));
}

void masked_stream_end(struct session *s)
{
	masked_stream_flush(s);
	s->log.stream = stream_free(s->log.stream);
}

void masked_stream_drop(struct session *s)
{
	s->log.stream = stream_free(s->log.stream);
}

static struct masked_stream *stream_for(struct session *s, const struct stream_piece *p)
{
	struct masked_stream *st = s->log.stream;

	if (!st) {
		st = s->log.stream = new0(struct masked_stream);
		st->text.max = LINE_MAX_BYTES + 1 * MIB;
	}
	/* The newest chunk gives the frame: held text goes out in an update like the one it came in last. */
	st->kind = p->kind;
	raw_set(&st->message, p->message);
	raw_set(&st->head, p->head);
	raw_set(&st->rest, p->rest);
	raw_set(&st->meta, p->meta);
	return st;
}

static void add_piece(struct session *s, const struct stream_piece *p)
{
	_cleanup_(buf_done) struct buf b = { .max = LINE_MAX_BYTES + 1 * MIB };
	struct masked_stream *st = stream_for(s, p);
	size_t tail;

	buf_add_slice(&st->text, p->text);
	mask_put(s->redact.known.mask, buf_slice(&st->text), true, st->shown, &tail, &b);
	/* `tail` is where a possible secret begins: what is before it is final, and is dropped. */
	st->shown -= MIN(st->shown, tail);
	buf_consume(&st->text, tail);
	if (!buf_len(&st->text))
		masked_stream_drop(s);
	emit_text(s, p, buf_slice(&b));
}

bool masked_stream_wants(const struct session *s, const struct harness_event *ev)
{
	const struct mask *m = s->redact.known.mask;
	struct stream_piece p;

	if (!m || (!s->log.stream && !mask_find(m, ev->update)))
		return false;
	/* what was found may be no part of the text: then nothing of it has to wait */
	return take_piece(ev, &p) && (s->log.stream || mask_find(m, p.text));
}

void masked_stream_add(struct session *s, const struct harness_event *ev)
{
	struct stream_piece p;

	if (!take_piece(ev, &p))
		return;
	/* Text of another message does not continue a secret. What is held goes out before it. */
	if (s->log.stream && !stream_continues(s->log.stream, &p))
		masked_stream_end(s);
	add_piece(s, &p);
}
