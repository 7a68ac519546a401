/*
 * answer_frames.c - finds the ends of events in a model's answer, one byte at a time, without
 * storing bytes.
 *
 * The first nonblank byte chooses the form. An event stream ends an event at an empty line. CR, LF
 * and CRLF each end a line (HTML standard, "Server-sent events"), also if CR and LF are in
 * different chunks. An array ends an event at the bracket that closes an element; brackets inside
 * strings do not count. State survives any cut of the input.
 */
#include "session/core/redact/answer_frames.h"

#include "base/util.h"

static size_t blanks(struct slice bytes)
{
	size_t n = 0;

	while (n < bytes.n && bytes.p[n] && strchr(" \t\r\n", bytes.p[n]))
		n++;
	return n;
}

/* Of data, event, id, retry; a comment; a byte order mark. */
static enum answer_form form_of(char first)
{
	if (first == '[')
		return ANSWER_ARRAY;
	return first && strchr("deir:\xef", first) ? ANSWER_EVENTS : ANSWER_OTHER;
}

/* A line feed behind a carriage return is a part of it, also when it comes later: then it is the first of what follows. */
static size_t take_of_stream(struct answer_frames *f, struct slice bytes, bool *ends)
{
	for (size_t i = 0; i < bytes.n; i++) {
		char c = bytes.p[i];
		bool second = c == '\n' && f->after_cr;

		f->after_cr = c == '\r';
		if (second)
			continue;
		if (c != '\n' && c != '\r') {
			f->in_line = true;
			continue;
		}
		*ends = !f->in_line;
		f->in_line = false;
		if (*ends)
			return i + 1;
	}
	return bytes.n;
}

static void in_string(struct answer_frames *f, char c)
{
	if (f->after_slash)
		f->after_slash = false;
	else if (c == '\\')
		f->after_slash = true;
	else if (c == '"')
		f->in_string = false;
}

/* True: an element ends, or the array. */
static bool outside_strings(struct answer_frames *f, char c)
{
	if (c == '"')
		f->in_string = true;
	else if (c == '{' || c == '[')
		f->depth++;
	else if (c == '}' || c == ']')
		f->depth -= f->depth > 0;
	/* Depth 1 is inside the outer array: an element has just ended there. Depth 0 is the end of the array. */
	return (c == '}' || c == ']') && f->depth <= 1;
}

static size_t take_of_array(struct answer_frames *f, struct slice bytes, bool *ends)
{
	for (size_t i = 0; i < bytes.n && !*ends; i++) {
		if (f->in_string)
			in_string(f, bytes.p[i]);
		else
			*ends = outside_strings(f, bytes.p[i]);
		if (*ends)
			return i + 1;
	}
	return bytes.n;
}

size_t answer_frames_take(struct answer_frames *f, struct slice bytes, bool *ends)
{
	size_t before = f->form == ANSWER_UNKNOWN ? blanks(bytes) : 0;

	*ends = false;
	if (before == bytes.n)
		return bytes.n;
	if (f->form == ANSWER_UNKNOWN)
		f->form = form_of(bytes.p[before]);
	if (f->form == ANSWER_OTHER)
		return bytes.n;
	bytes = slice_after(bytes, before);
	return before + (f->form == ANSWER_EVENTS ? take_of_stream(f, bytes, ends) :
						    take_of_array(f, bytes, ends));
}
