/*
 * The search for secrets. Input: pieces between NUL bytes; the first is the secret, the others are text. No secret is left in what comes
 * out, as it is or in any of its forms, however the text is cut into pieces; what is not masked is untouched; JSON stays JSON.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "digest/base64.h"
#include "json/jstr.h"
#include "session/core/redact/event_fields.h"
#include "session/core/redact/secrets.h"

static bool holds(struct slice text, struct slice part)
{
	return part.n && text.n && memmem(text.p, text.n, part.p, part.n);
}

/* Of the text only whole stretches have become "***". */
static void check_rest(struct slice text, struct slice out)
{
	size_t i = 0;

	for (size_t at = 0; at < out.n;) {
		if (i < text.n && out.p[at] == text.p[i]) {
			at++;
			i++;
			continue;
		}
		/* from here on something was cut out: what follows the stars is further on */
		FUZZ_CHECK(out.n - at >= 3 || holds(out, slice_of(MASK)));
		return;
	}
	FUZZ_CHECK(out.n <= text.n || holds(out, slice_of(MASK)));
}

static void check_none(const struct mask *m, struct slice out, struct slice secret)
{
	/* stars that were put there may be part of one */
	if (memchr(secret.p, '*', secret.n))
		return;
	FUZZ_CHECK(!holds(out, secret));
	FUZZ_CHECK(!(mask_find(m, out) & MASK_HIT));
}

static void check_plain(const struct mask *m, struct slice text, struct slice secret)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	mask_put(m, text, false, 0, NULL, &out);
	check_rest(text, buf_slice(&out));
	if (!holds(text, slice_of(MASK)))
		check_none(m, buf_slice(&out), secret);
	if (!(mask_find(m, text) & MASK_HIT))
		FUZZ_CHECK(slice_eq(buf_slice(&out), text));
}

/* The same, in three pieces, as a stream brings them. */
static void check_pieces(const struct mask *m, struct slice text)
{
	_cleanup_(buf_done) struct buf whole = { 0 }, out = { 0 }, held = { 0 };
	size_t cuts[] = { 0, text.n / 3, text.n - text.n / 4, text.n }, tail;

	mask_put(m, text, false, 0, NULL, &whole);
	for (size_t i = 1; i < ARRAY_SIZE(cuts); i++) {
		buf_add(&held, text.p + cuts[i - 1], cuts[i] - cuts[i - 1]);
		mask_put(m, buf_slice(&held), false, 0, &tail, &out);
		FUZZ_CHECK(tail <= buf_len(&held));
		buf_consume(&held, tail);
	}
	mask_put(m, buf_slice(&held), false, 0, NULL, &out);
	if (!holds(text, slice_of(MASK)))
		FUZZ_CHECK(!(mask_find(m, buf_slice(&whole)) & MASK_HIT) ||
			   (mask_find(m, buf_slice(&out)) & MASK_HIT));
}

static void check_json(const struct mask *m, struct slice text)
{
	_cleanup_(buf_done) struct buf json = { 0 }, out = { 0 };
	struct jval v;

	jstr_encode(&json, text);
	event_fields_mask(m, buf_slice(&json), false, NULL, &out);
	FUZZ_CHECK(is_json(buf_slice(&out), J_STRING));
	if (is_json(text, J_NONE)) {
		buf_reset(&out);
		jscan_value(text, &v);
		event_fields_mask(m, v.raw, false, event_fields_of(UPDATE_TOOL_CALL), &out);
		FUZZ_CHECK(is_json(buf_slice(&out), v.type));
		FUZZ_CHECK(buf_len(&out) <= v.raw.n);
	}
}

/* More backslashes (with one more level of escapes) or line breaks in a row than are passed over. */
static bool much_escaped(struct slice secret)
{
	size_t run = 0, longest = 0, breaks = 0, most = 0;

	for (size_t i = 0; i < secret.n; i++) {
		breaks = secret.p[i] == '\n' || secret.p[i] == '\r' ? breaks + 1 : 0;
		most = MAX(most, breaks);
		run = secret.p[i] == '\\' ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	return longest > 31 || most > 8;
}

/* Around the text, in each form. */
static void check_forms(const struct mask *m, struct slice secret, struct slice text)
{
	_cleanup_(buf_done) struct buf plain = { 0 }, json = { 0 }, bytes = { 0 }, coded = { 0 };

	buf_putc(&plain, ' ');
	buf_add_slice(&plain, secret);
	buf_add_slice(&plain, text);
	FUZZ_CHECK(mask_find(m, buf_slice(&plain)) & MASK_HIT);
	if (jstr_encode(&json, secret) == 0 && !memmem(json.data, json.len, "\xef\xbf\xbd", 3)) {
		json.data[0] = json.data[json.len - 1] = ' ';
		FUZZ_CHECK(mask_find(m, buf_slice(&json)) & MASK_HIT);
	}
	buf_add(&bytes, text.p, MIN(text.n, 64u));
	buf_add_slice(&bytes, secret);
	buf_add(&bytes, text.p, MIN(text.n, 4u));
	base64_encode(buf_slice(&bytes), &coded);
	FUZZ_CHECK(mask_find(m, buf_slice(&coded)) & MASK_HIT);
}

/* What has no place for it is found as well: the session's own rules first. */
static bool admitted(struct slice secret)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct secrets x = { 0 };
	struct jw w = JW(&b);
	bool ok;

	jw_obj(&w, NULL);
	jw_slice(&w, "A", secret);
	jw_end_obj(&w);
	secrets_load(&x, &(struct secrets_given){ .marked = buf_slice(&b) });
	ok = x.n > 0 && slice_eq((struct slice){ x.list[0].value, x.list[0].n }, secret);
	secrets_done(&x);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct slice rest = all, secret, text;
	struct mask *m;

	if (!next_piece(&rest, '\0', &secret) || much_escaped(secret) || !admitted(secret))
		return 0;
	m = mask_new();
	mask_add(m, secret);
	while (next_piece(&rest, '\0', &text)) {
		_cleanup_(exact_free) struct slice own = exact(text.p, text.n);

		check_plain(m, own, secret);
		check_pieces(m, own);
		check_json(m, own);
		check_forms(m, secret, own);
	}
	m = mask_free(m);
	return 0;
}
