/*
 * testrun_junit.c - a small XML reader, and the mapping of JUnit elements to results of tests.
 *
 * The report is untrusted: no entity is defined, nothing is loaded, nothing recurses. Attributes
 * and text stay slices of the report; only names and messages are decoded and cut. False means that
 * the root was not closed: the caller then drops the results, because a killed runner leaves a
 * partial report.
 */
#include "tools/builtin/testrun/testrun_parse.h"

#include "base/limits.h"
#include "base/util.h"

#include <ctype.h>

/*
 * As much of XML as JUnit files use: elements, attributes, text, CDATA, the five entities and character references.
 * Comments, processing instructions and a document type are skipped; nothing is ever loaded. What is no XML ends the
 * reading where it stands.
 */
struct xml {
	struct slice rest;
	bool broken;
};

enum xml_kind { XML_END, XML_OPEN, XML_EMPTY, XML_CLOSE, XML_TEXT, XML_CDATA };

struct xml_piece {
	enum xml_kind kind;
	struct slice name, attrs; /* elements */
	struct slice text;	  /* raw */
};

/* Takes the text before the needle, and the needle. */
static bool xml_take_until(struct xml *x, const char *needle, struct slice *ret)
{
	size_t n = strlen(needle);
	const char *at = x->rest.n ? memmem(x->rest.p, x->rest.n, needle, n) : NULL;

	if (!at) {
		x->broken = true;
		return false;
	}
	*ret = (struct slice){ x->rest.p, (size_t)(at - x->rest.p) };
	x->rest = (struct slice){ at + n, x->rest.n - ret->n - n };
	return true;
}

/* The inside of a tag; a '>' within quotes does not end it. */
static bool tag_inside(struct xml *x, struct slice *ret)
{
	char quote = 0;

	for (size_t i = 0; i < x->rest.n; i++) {
		char c = x->rest.p[i];

		if (quote && c == quote) {
			quote = 0;
		} else if (!quote && (c == '"' || c == '\'')) {
			quote = c;
		} else if (!quote && c == '>') {
			*ret = (struct slice){ x->rest.p, i };
			x->rest = (struct slice){ x->rest.p + i + 1, x->rest.n - i - 1 };
			return true;
		}
	}
	x->broken = true;
	return false;
}

static bool xml_element(struct xml *x, struct xml_piece *ret)
{
	struct slice in;
	size_t n = 0;

	ret->kind = slice_skip(&x->rest, "/") ? XML_CLOSE : XML_OPEN;
	if (!tag_inside(x, &in))
		return false;
	if (ret->kind == XML_OPEN && in.n && in.p[in.n - 1] == '/') {
		ret->kind = XML_EMPTY;
		in.n--;
	}
	while (n < in.n && !isspace((unsigned char)in.p[n]))
		n++;
	ret->name = (struct slice){ in.p, n };
	ret->attrs = slice_after(in, n);
	return n > 0;
}

static bool xml_next(struct xml *x, struct xml_piece *ret)
{
	struct slice skipped;

	while (x->rest.n) {
		*ret = (struct xml_piece){ .kind = XML_TEXT };
		if (x->rest.p[0] != '<') {
			const char *at = memchr(x->rest.p, '<', x->rest.n);
			size_t n = at ? (size_t)(at - x->rest.p) : x->rest.n;

			ret->text = (struct slice){ x->rest.p, n };
			x->rest = slice_after(x->rest, n);
			return true;
		}
		if (slice_skip(&x->rest, "<!--")) {
			if (!xml_take_until(x, "-->", &skipped))
				return false;
		} else if (slice_skip(&x->rest, "<![CDATA[")) {
			ret->kind = XML_CDATA;
			return xml_take_until(x, "]]>", &ret->text);
		} else if (slice_skip(&x->rest, "<?")) {
			if (!xml_take_until(x, "?>", &skipped))
				return false;
		} else if (slice_skip(&x->rest, "<!")) {
			if (!tag_inside(x, &skipped))
				return false;
		} else {
			slice_skip(&x->rest, "<");
			return xml_element(x, ret);
		}
	}
	return false;
}

static void xml_put_utf8(struct buf *b, unsigned long u)
{
	/* The ranges of RFC 3629, 3. */
	if (u < 0x80) {
		buf_putc(b, (char)u);
		return;
	}
	if (u < 0x800) {
		buf_putc(b, (char)(0xc0 | u >> 6));
	} else {
		if (u < 0x10000) {
			buf_putc(b, (char)(0xe0 | u >> 12));
		} else {
			buf_putc(b, (char)(0xf0 | u >> 18));
			buf_putc(b, (char)(0x80 | (u >> 12 & 63)));
		}
		buf_putc(b, (char)(0x80 | (u >> 6 & 63)));
	}
	buf_putc(b, (char)(0x80 | (u & 63)));
}

/* "#10" or "#x1F600" */
static bool xml_put_reference(struct buf *b, struct slice s)
{
	char digits[9] = "";
	bool hex = slice_skip(&s, "#x");
	unsigned long u;
	char *end;

	/* strtoul would also accept blanks and a sign before the digits. */
	if ((!hex && !slice_skip(&s, "#")) || !s.n || s.n >= sizeof(digits) ||
	    !isxdigit((unsigned char)s.p[0]))
		return false;
	memcpy(digits, s.p, s.n);
	u = strtoul(digits, &end, hex ? 16 : 10);
	/* Surrogates pass: the writer of JSON replaces them. */
	if (*end || !u || u > 0x10ffff)
		return false;
	xml_put_utf8(b, u);
	return true;
}

/* Appends text with its entities put in place; the writer of JSON mends what is no UTF-8. */
static void xml_decode(struct buf *b, struct slice s, size_t max)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = {
		{ "lt", '<' }, { "gt", '>' }, { "amp", '&' }, { "quot", '"' }, { "apos", '\'' }
	};

	for (size_t i = 0; i < s.n && buf_len(b) < max; i++) {
		/* No known reference is longer, so a lone "&" is not searched to the end of the
		 * text. */
		const char *semi = s.p[i] == '&' ? memchr(s.p + i, ';', MIN(s.n - i, 12u)) : NULL;
		struct slice name = { s.p + i + 1, semi ? (size_t)(semi - s.p) - i - 1 : 0 };
		size_t k = 0;

		while (semi && k < ARRAY_SIZE(entities) && !slice_is(name, entities[k].name))
			k++;
		if (semi && k < ARRAY_SIZE(entities))
			buf_putc(b, entities[k].c);
		else if (!semi || !xml_put_reference(b, name))
			semi = NULL;
		if (semi)
			i = (size_t)(semi - s.p);
		else
			buf_putc(b, s.p[i]);
	}
}

/* The raw value of an attribute; empty if there is none. */
static struct slice attr(struct slice attrs, const char *name)
{
	size_t i = 0, from;

	while (i < attrs.n) {
		struct slice key;
		char quote;

		while (i < attrs.n && isspace((unsigned char)attrs.p[i]))
			i++;
		from = i;
		while (i < attrs.n && attrs.p[i] != '=')
			i++;
		key = (struct slice){ attrs.p + from, i - from };
		while (key.n && isspace((unsigned char)key.p[key.n - 1]))
			key.n--;
		for (i++; i < attrs.n && isspace((unsigned char)attrs.p[i]);)
			i++;
		if (i >= attrs.n)
			break;
		quote = attrs.p[i++];
		from = i;
		while (i < attrs.n && attrs.p[i] != quote)
			i++;
		if (slice_is(key, name))
			return (struct slice){ attrs.p + from, i - from };
		i++;
	}
	return SLICE_NONE;
}

static double seconds(struct slice s)
{
	char text[32] = "", *end;
	double v;

	if (!s.n || s.n >= sizeof(text))
		return -1;
	memcpy(text, s.p, s.n);
	v = strtod(text, &end);
	/* In this form the test refuses NaN, too. */
	return *end || !(v >= 0 && v < 1e9) ? -1 : v * 1000;
}

struct junit {
	bool in_case;
	bool in_message; /* text belongs to its message */
	unsigned depth;
	struct buf suite, name, message;
	struct test_case c;
};

static void case_close(struct junit *j, struct test_report *r)
{
	j->c.suite = buf_slice(&j->suite);
	j->c.name = buf_slice(&j->name);
	j->c.message = buf_slice(&j->message);
	test_report_add(r, &j->c);
	j->in_case = j->in_message = false;
}

/* pytest names the file besides, and the class as Python does: then the suite is what its command line takes. */
static void file_suite(struct junit *j, struct slice attrs)
{
	_cleanup_(buf_done) struct buf file = { 0 };
	struct slice rest;
	size_t n;

	xml_decode(&file, attr(attrs, "file"), TEST_NAME_MAX);
	n = buf_len(&file);
	if (n < 4 || memcmp(file.data + n - 3, ".py", 3) != 0 || buf_len(&j->suite) < n - 3)
		return;
	for (size_t i = 0; i < n - 3; i++)
		if (j->suite.data[i] != (file.data[i] == '/' ? '.' : file.data[i]))
			return;
	rest = (struct slice){ j->suite.data + n - 3, buf_len(&j->suite) - (n - 3) };
	if (rest.n && !slice_skip(&rest, "."))
		return;
	if (rest.n)
		buf_puts(&file, "::");
	for (size_t i = 0; i < rest.n; i++)
		buf_puts(&file, rest.p[i] == '.' ? "::" : (char[]){ rest.p[i], '\0' });
	buf_reset(&j->suite);
	buf_add_slice(&j->suite, buf_slice(&file));
}

static void case_open(struct junit *j, struct slice attrs)
{
	buf_reset(&j->suite);
	buf_reset(&j->name);
	buf_reset(&j->message);
	j->in_case = true;
	j->c = (struct test_case){ .status = TEST_PASSED, .ms = seconds(attr(attrs, "time")) };
	xml_decode(&j->suite, attr(attrs, "classname"), TEST_NAME_MAX);
	xml_decode(&j->name, attr(attrs, "name"), TEST_NAME_MAX);
	file_suite(j, attrs);
}

/* An element inside a test case. */
static void case_part(struct junit *j, const struct xml_piece *p)
{
	static const struct {
		const char *name;
		enum test_status status;
	} parts[] = { { "failure", TEST_FAILED },
		      { "error", TEST_FAILED },
		      { "skipped", TEST_SKIPPED } };

	j->in_message = false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!slice_is(p->name, parts[i].name) || p->kind == XML_CLOSE)
			continue;
		j->c.status = parts[i].status;
		if (buf_len(&j->message))
			buf_putc(&j->message, '\n');
		xml_decode(&j->message, attr(p->attrs, "message"), TEST_MESSAGE_MAX);
		j->in_message = p->kind == XML_OPEN;
	}
}

static void junit_element(struct junit *j, const struct xml_piece *p, struct test_report *r)
{
	bool is_case = slice_is(p->name, "testcase");

	/* Counts what is open, by number and not by name: it only shows whether the report is
	 * whole. */
	j->depth += p->kind == XML_OPEN;
	if (p->kind == XML_CLOSE && j->depth)
		j->depth--;
	if (is_case && p->kind != XML_CLOSE)
		case_open(j, p->attrs);
	if (j->in_case && !is_case)
		case_part(j, p);
	/* Closed, or empty from the start: a passed test has no content. */
	if (j->in_case && is_case && p->kind != XML_OPEN)
		case_close(j, r);
}

static void junit_text(struct junit *j, const struct xml_piece *p)
{
	if (!j->in_message)
		return;
	if (buf_len(&j->message) && buf_len(&j->message) < TEST_MESSAGE_MAX)
		buf_putc(&j->message, '\n');
	if (p->kind == XML_TEXT)
		xml_decode(&j->message, p->text, TEST_MESSAGE_MAX);
	else
		buf_add(&j->message, p->text.p, MIN(p->text.n, (size_t)TEST_MESSAGE_MAX));
}

bool test_junit_read(struct slice text, struct test_report *r)
{
	struct xml x = { .rest = text };
	struct junit j = { 0 };
	struct xml_piece p;
	bool root = false;

	while (xml_next(&x, &p)) {
		if (p.kind == XML_TEXT || p.kind == XML_CDATA) {
			junit_text(&j, &p);
			continue;
		}
		root = true;
		junit_element(&j, &p, r);
	}
	buf_done(&j.suite);
	buf_done(&j.name);
	buf_done(&j.message);
	return root && !x.broken && !j.depth;
}
