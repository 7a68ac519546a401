/*
 * answer_head.c - stores the header fields of an HTTP answer within limits, and prints them as one
 * JSON object.
 *
 * libcurl passes the lines of every head: interim answers, the final one, trailers. A status line
 * drops the fields before it, and `over` ignores the trailers. Values become valid UTF-8 without
 * control characters here, in the confined program, because the daemon uses them in JSON and in
 * lines.
 */
#include "fetch/fetch.h"

#include "base/util.h"
#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/format/utf8.h"
#include "json/jenc.h"

struct answer_field {
	char *name;
	struct buf value;
};

#define BLANKS " \t\r\n"

static void answer_head_forget(struct answer_head *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->fields[i].name);
		buf_done(&h->fields[i].value);
	}
	h->n = h->bytes = 0;
}

static char *lowered(struct slice name)
{
	char *s = xstrndup(name.p, name.n);

	for (char *p = s; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p |= 0x20;
	return s;
}

/* Makes what stands from there on fit for a line, and for a JSON string. */
static void answer_head_repair(struct buf *value, size_t from)
{
	for (size_t i = from; i < value->len; i++) {
		unsigned char *c = (unsigned char *)value->data + i;
		size_t n = *c >= 0x80 ? utf8_sequence(c, value->len - i) : 1;

		if (*c < 0x20 || *c == 0x7f)
			*c = ' ';
		else if (n == 0)
			*c = '?';
		else
			i += n - 1;
	}
}

static int answer_head_add_field(struct answer_head *h, struct slice name, struct slice value)
{
	_cleanup_(freep) char *lower = lowered(name);
	struct answer_field *f = NULL;
	size_t from;

	h->bytes += name.n + value.n + 2;
	for (size_t i = 0; i < h->n && !f; i++)
		if (strcmp(h->fields[i].name, lower) == 0)
			f = &h->fields[i];
	if (h->bytes > FETCH_HEAD_MAX || (!f && h->n == ANSWER_NAMES_MAX))
		return -EMSGSIZE;
	if (f) {
		buf_puts(&f->value, ", ");
	} else {
		f = GROW(h->fields, h->n);
		f->name = TAKE_PTR(lower);
	}
	from = f->value.len;
	buf_add_slice(&f->value, value);
	answer_head_repair(&f->value, from);
	return 0;
}

int answer_head_line(struct answer_head *h, struct slice line, bool interim)
{
	struct slice name;

	if (h->over)
		return 0;
	if (slice_starts(line, "HTTP/")) { /* after an answer 1xx another head begins */
		answer_head_forget(h);
		return 0;
	}
	if (!slice_trim(line, BLANKS).n) {
		h->over = !interim;
		return h->over;
	}
	/* libcurl took it for harmless; it is not handed on */
	if (!slice_cut(&line, ':', &name) || !header_name_ok(name))
		return 0;
	return answer_head_add_field(h, name, slice_trim(line, BLANKS));
}

static bool answer_head_is_encoded(const struct answer_head *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (strcmp(h->fields[i].name, "content-encoding") == 0)
			return true;
	return false;
}

/* Whether a field still describes the body after libcurl has decoded it. */
static bool describes_body(const char *name, bool encoded)
{
	return !encoded ||
	       (strcmp(name, "content-encoding") != 0 && strcmp(name, "content-length") != 0);
}

void answer_head_put(const struct answer_head *h, struct buf *json)
{
	bool encoded = answer_head_is_encoded(h);
	struct jw w = JW(json);

	jw_obj(&w, NULL);
	for (size_t i = 0; i < h->n; i++)
		if (describes_body(h->fields[i].name, encoded))
			jw_slice(&w, h->fields[i].name, buf_slice(&h->fields[i].value));
	jw_end_obj(&w);
}

void answer_head_done(struct answer_head *h)
{
	answer_head_forget(h);
	free(h->fields);
	*h = (struct answer_head){ .over = h->over };
}
