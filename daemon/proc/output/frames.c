/*
 * frames.c - walks over a line byte by byte. What a terminal would not show (escapes, a byte order mark, control bytes)
 * leaves no trace; a CR begins the line again, as a progress display means it.
 */
#include "proc/output/frames.h"

#include "base/format/utf8.h"
#include "base/util.h"
#include "json/json.h"
#include "json/jwalk.h"

#define ESC 0x1b
#define BEL 0x07

struct frame_walk {
	const unsigned char *p, *end;
	bool bare;	      /* no text stands before p */
	unsigned char before; /* the last byte of that text */
	bool gap;	      /* and blanks behind it */
	bool endless;	      /* no string of a terminal that starts from here on has an end */
	frame_take_fn take;
	void *ctx;
	enum frames_result result;
};

/* --- what is not text ------------------------------------------------------------------------------------- */

/* Past a string that the terminal takes; without an end it is no string. */
static const unsigned char *skip_string(struct frame_walk *w, const unsigned char *p)
{
	for (const unsigned char *s = p; !w->endless && s < w->end; s++) {
		if (*s == BEL)
			return s + 1;
		if (*s == ESC && s + 1 < w->end && s[1] == '\\')
			return s + 2;
	}
	w->endless = true; /* so that a line of such beginnings is read once, not once for each */
	return p;
}

static const unsigned char *skip_range(const unsigned char *p, const unsigned char *end,
				       unsigned char from, unsigned char to)
{
	while (p < end && *p >= from && *p <= to)
		p++;
	return p;
}

/* Past an escape of ECMA-48. A brace ends none: it may begin a message. */
static const unsigned char *skip_escape(struct frame_walk *w)
{
	const unsigned char *p = w->p + 1, *end = w->end;

	/* OSC, DCS, PM, APC and SOS begin a string; "[" begins a control sequence: parameters, intermediates, a final byte. */
	if (p < end && strchr("]P^_X", *p) && *p)
		return skip_string(w, p + 1);
	if (p < end && *p == '[')
		p = skip_range(p + 1, end, 0x30, 0x3f);
	p = skip_range(p, end, 0x20, 0x2f);
	return p < end && *p >= 0x30 && *p <= 0x7e && *p != '{' ? p + 1 : p;
}

static void step_over_text(struct frame_walk *w)
{
	static const char bom[] = "\xef\xbb\xbf";

	if (*w->p == ESC) {
		w->p = skip_escape(w);
	} else if (w->end - w->p >= 3 && memcmp(w->p, bom, 3) == 0) {
		w->p += 3;
	} else if (*w->p == ' ' || *w->p == '\t') {
		w->gap = true;
		w->p++;
	} else if (*w->p < 0x20 || *w->p == 0x7f) {
		if (*w->p++ == '\r')
			w->bare = true;
	} else {
		w->bare = w->gap = false;
		w->before = *w->p++;
	}
}

/* --- messages --------------------------------------------------------------------------------------------- */

/* Text that shows what follows ("sent {", "<- {"); progress ("42% {", "loading... {") does not. */
static bool is_label(const struct frame_walk *w)
{
	if (w->bare)
		return false;
	return w->gap ? !strchr(".%!?", w->before) : strchr(":=<>-|,'\"`(", w->before) != NULL;
}

static bool is_message_name(const unsigned char *p, const unsigned char *end)
{
	static const char *const names[] = { "jsonrpc", "id",	 "method", "params",
					     "result",	"error", "type" };
	struct slice rest;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end || *p++ != '"')
		return false;
	rest = (struct slice){ (const char *)p, (size_t)(end - p) };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (slice_starts(rest, names[i]) && rest.n > strlen(names[i]) &&
		    rest.p[strlen(names[i])] == '"')
			return true;
	return false;
}

/* An object whose first member is a message's: v; if it is not valid, J_NONE. */
static enum frames_result frame_take_message(struct frame_walk *w, struct jval v)
{
	int r;

	if (v.type == J_NONE)
		return w->bare ? FRAMES_BROKEN : FRAMES_NONE;
	if (is_label(w))
		return FRAMES_NONE;
	/* What a label shows was sent elsewhere, or is only logged; what stands alone, or behind plain text, is a message. */
	r = w->take(w->ctx, v.raw);
	if (r < 0) {
		w->p = w->end;
		return FRAMES_TAKEN;
	}
	if (r > 0)
		return w->bare && jobj_get(v.raw, "jsonrpc").type != J_NONE ? FRAMES_BROKEN :
									      FRAMES_NONE;
	w->bare = true;
	return FRAMES_TAKEN;
}

static void step_over_object(struct frame_walk *w)
{
	struct slice rest = { (const char *)w->p, (size_t)(w->end - w->p) };
	struct jwalk j = jwalk_of(rest);
	enum frames_result r = FRAMES_NONE;
	struct jval v = { J_NONE, SLICE_NONE };
	bool whole = jwalk_value(&j, &v);

	if (!whole)
		v.type = J_NONE;
	if (is_message_name(w->p + 1, w->end))
		r = frame_take_message(w, v);
	if (r != FRAMES_NONE)
		w->result = r;
	/* An object that is no message is text like any other, and what follows it may be shown by it. */
	if (r != FRAMES_TAKEN) {
		w->bare = w->gap = false;
		w->before = '}';
	}
	if (w->p < w->end)
		w->p = whole ? j.p : w->p + 1;
}

/* Several messages in an array: no program that is read here may send them so. */
static bool is_batch(const struct frame_walk *w)
{
	struct slice rest = { (const char *)w->p, (size_t)(w->end - w->p) };

	return w->bare &&
	       (slice_starts(rest, "[{\"jsonrpc\"") || slice_starts(rest, "[ {\"jsonrpc\""));
}

enum frames_result frames_take(struct slice line, frame_take_fn take, void *ctx)
{
	_cleanup_(buf_done) struct buf repaired = { 0 };
	struct frame_walk w = { .bare = true, .take = take, .ctx = ctx };

	if (!utf8_valid(line)) {
		jstr_repair(line, &repaired);
		if (repaired.failed)
			return FRAMES_BROKEN;
		line = buf_slice(&repaired);
	}
	w.p = (const unsigned char *)line.p;
	w.end = w.p + line.n;
	while (w.p < w.end && w.result != FRAMES_BROKEN) {
		if (is_batch(&w))
			w.result = FRAMES_BROKEN;
		else if (*w.p == '{')
			step_over_object(&w);
		else
			step_over_text(&w);
	}
	return w.result;
}
