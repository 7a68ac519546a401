/* Secrets in text: every form is found, nothing else changes, and what a piece of a stream may begin with is held back. */
#include "unit.h"

#include "digest/base64.h"
#include "json/jscan.h"
#include "json/jstr.h"
#include "base/limits.h"
#include "session/core/redact/event_fields.h"
#include "session/core/redact/secrets.h"

#define KEY "sk-ab/cd+ef=9Q\"x"

static struct mask *mask_of(const char *value)
{
	struct mask *m = mask_new();

	mask_add(m, slice_of(value));
	return m;
}

static void check_put(const struct mask *m, const char *text, bool json, const char *want)
{
	_cleanup_(slice_freep) struct slice in = exact_copy(slice_of(text));
	_cleanup_(buf_done) struct buf b = { 0 };

	mask_put(m, in, json, 0, NULL, &b);
	assert_buf(&b, want);
}

static void test_forms(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "key " KEY " end", "key *** end" },
		{ KEY KEY, "******" },
		{ "sk-ab\\/cd+ef=9Q\\\"x.", "***." },
		{ "\\u0073k-ab\\u002fcd\\u002Bef=9Q\\u0022x", "***" },
		{ "\\\\u0073k-ab\\\\/cd+ef=9Q\\\\\\\"x", "***" },
		{ "?k=sk-ab%2Fcd%2Bef%3D9Q%22x&a=1", "?k=***&a=1" },
		{ "sk-ab\n/cd+ef\r\n=9Q\"x", "***" },
		{ "sk-ab\r\n\r\n\r\n/cd+ef=9Q\"x", "***" },
		{ "sk-ab/cd+ef=9Q", "sk-ab/cd+ef=9Q" },
		{ "SK-AB/CD+EF=9Q\"X", "SK-AB/CD+EF=9Q\"X" },
		{ "%sk-ab/cd+ef=9Q\"x%", "%***%" },
		{ "nothing \\u0073 %73 \\ % \\u \\u12 %4",
		  "nothing \\u0073 %73 \\ % \\u \\u12 %4" },
	};
	struct mask *m = mask_of(KEY);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_put(m, rows[i].text, false, rows[i].want);
	m = mask_free(m);
}

/* In base64, wherever it begins, in both alphabets and over lines. */
static void test_base64(void **state _unused_)
{
	struct mask *m = mask_of("\xfb\xff\xfe secret value \xff?>");

	for (size_t before = 0; before < 7; before++)
		for (int form = 0; form < 3; form++) {
			_cleanup_(buf_done) struct buf bytes = { 0 }, text = { 0 }, out = { 0 };
			size_t n;

			buf_add(&bytes, "abcdefg", before);
			buf_puts(&bytes, "\xfb\xff\xfe secret value \xff?>");
			buf_puts(&bytes, "hijkl");
			base64_encode(buf_slice(&bytes), &text);
			for (size_t i = 0; form == 1 && i < text.len; i++)
				text.data[i] = text.data[i] == '+' ? '-' :
					       text.data[i] == '/' ? '_' :
								     text.data[i];
			n = before + 10;
			if (form == 2) {
				buf_putc(&text, 'x');
				memmove(text.data + n + 1, text.data + n, text.len - n - 1);
				text.data[n] = '\n';
			}
			mask_put(m, buf_slice(&text), false, 0, NULL, &out);
			assert_non_null(memmem(out.data, out.len, MASK, 3));
			assert_true(out.len < text.len - 15);
		}
	m = mask_free(m);
}

/* What is cut out of a JSON string leaves one, whatever escapes are around it. */
static void test_json_stays_json(void **state _unused_)
{
	static const char *const texts[] = {
		"\\nabcdefgh",
		"\\\\nabcdefgh",
		"\\u00e9xnabcdefgh",
		"nabcdefgh\\\\",
		"nabcdefg\\u0068",
		"nabcdefg\\\\u0068",
		"\\\"nabcdefgh\\\"",
		"\\ud83dnabcdefgh",
		"u0041nabcdefgh",
		"nabcdefgh\\u0041",
		"x\\\\\\nabcdefgh\\\\\\\"",
	};
	struct mask *m = mask_of("nabcdefgh");

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		buf_putc(&b, '"');
		mask_put(m, slice_of(texts[i]), true, 0, NULL, &b);
		buf_putc(&b, '"');
		assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
		assert_null(memmem(b.data, b.len, "nabcdefgh", 9));
	}
	m = mask_free(m);
}

static void check_stream(const struct mask *m, const char *text, size_t a, size_t b,
			 const char *want)
{
	_cleanup_(buf_done) struct buf held = { 0 }, out = { 0 };
	size_t cuts[] = { 0, a, b, strlen(text) }, tail;

	for (size_t i = 1; i < ARRAY_SIZE(cuts); i++) {
		buf_add(&held, text + cuts[i - 1], cuts[i] - cuts[i - 1]);
		mask_put(m, buf_slice(&held), true, 0, &tail, &out);
		buf_consume(&held, tail);
		assert_true(buf_len(&held) < 20);
	}
	mask_put(m, buf_slice(&held), true, 0, NULL, &out);
	assert_buf(&out, want);
}

static void test_pieces(void **state _unused_)
{
	static const char text[] = "the key sk-abcdefgh and s and sk-abc";
	struct mask *m = mask_of("sk-abcdefgh");

	for (size_t a = 0; a < strlen(text); a += stride(2))
		for (size_t b = a; b < strlen(text); b++)
			check_stream(m, text, a, b, "the key *** and s and sk-abc");
	m = mask_free(m);
}

/* A quote may be one of the secret, or the end of a string that another goes on. */
static void test_ends_before_quote(void **state _unused_)
{
	static const struct {
		const char *text;
		unsigned found;
	} rows[] = {
		{ "{\"text\":\"sk-ab/cd+ef=9Q\",\"n\":1}", MASK_TAIL },
		{ "{\"text\":\"sk-ab/cd+ef=9\",\"n\":1}", MASK_TAIL },
		{ "{\"text\":\"sk-ab/cd+ef=9Q\\\"x\"}", MASK_HIT },
		{ "{\"text\":\"sk-ab/cd+ef=9Q.\",\"n\":1}", 0 },
	};
	struct mask *m = mask_of(KEY);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(mask_find(m, slice_of(rows[i].text)), rows[i].found);
	m = mask_free(m);
}

/* In JSON that stands in a string the backslash of what is hidden is not left alone. */
static void test_json_within_json(void **state _unused_)
{
	struct mask *m = mask_of("\"quoted-key\"");

	check_put(m, "{\\\"k\\\":\\\"a\\\\\\\"quoted-key\\\\\\\"b\\\"}", true,
		  "{\\\"k\\\":\\\"a***b\\\"}");
	m = mask_free(m);
}

/* A text that was cut may end in the middle of one. */
static void test_lines(void **state _unused_)
{
	char line[24] = "Incorrect key sk-abcdef", whole[64] = "ends with sk-abc";
	struct mask *m = mask_of("sk-abcdefgh");

	mask_line(m, line, sizeof(line));
	assert_string_equal(line, "Incorrect key ***");
	mask_line(m, whole, sizeof(whole));
	assert_string_equal(whole, "ends with sk-abc");
	mask_line(NULL, whole, sizeof(whole));
	m = mask_free(m);
}

static void check_fields(unsigned kind, bool members, const char *json, const char *want)
{
	_cleanup_(slice_freep) struct slice in = exact_copy(slice_of(json));
	_cleanup_(buf_done) struct buf b = { 0 };
	struct mask *m = mask_of("tool-7-key");

	event_fields_mask(m, in, members, event_fields_of(kind), &b);
	assert_buf(&b, want);
	m = mask_free(m);
}

static void test_fields(void **state _unused_)
{
	check_fields(
		UPDATE_TOOL_CALL, false,
		"{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"tool-7-key\",\"title\":\"tool-7-key\", "
		"\"kind\":\"tool-7-key\",\"rawInput\":{\"tool-7-key\":[\"tool-7-key\",7,{\"kind\":\"a tool-7-key\"}]},"
		"\"content\":[{\"type\":\"tool-7-key\",\"content\":{\"type\":\"text\",\"text\":\"=tool-7-key=\"}}]}",
		"{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"tool-7-key\",\"title\":\"***\", "
		"\"kind\":\"tool-7-key\",\"rawInput\":{\"tool-7-key\":[\"***\",7,{\"kind\":\"a ***\"}]},"
		"\"content\":[{\"type\":\"tool-7-key\",\"content\":{\"type\":\"text\",\"text\":\"=***=\"}}]}");
	check_fields(
		UPDATE_CONFIG, false,
		"{\"configOptions\":[{\"id\":\"tool-7-key\",\"description\":\"tool-7-key\",\"options\":[{\"value\":"
		"\"tool-7-key\",\"name\":\"tool-7-key\"}]}]}",
		"{\"configOptions\":[{\"id\":\"tool-7-key\",\"description\":\"***\",\"options\":[{\"value\":"
		"\"tool-7-key\",\"name\":\"tool-7-key\"}]}]}");
	check_fields(EVENT_USAGE, true, "\"kind\":\"usage\",\"source\":\"tool-7-key\"",
		     "\"kind\":\"usage\",\"source\":\"tool-7-key\"");
	check_fields(EVENT_LIFECYCLE, true, "\"event\":\"tool-7-key\",\"x\":{\"y\":\"tool-7-key\"}",
		     "\"event\":\"tool-7-key\",\"x\":{\"y\":\"***\"}");
}

static void check_unmasked(const struct secrets *x, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	secrets_put_unmasked(x, &w);
	buf_putc(&b, '\0');
	assert_string_equal(b.data, want);
}

static void load(struct secrets *x, const char *marked, const char *env)
{
	const struct secrets_given g = { .marked = slice_of(marked),
					 .env = slice_of(env),
					 .in_use = { "my-own-model" } };

	secrets_load(x, &g);
}

static void test_what_is_none(void **state _unused_)
{
	struct secrets x = { 0 };

	load(&x,
	     "{\"A\":\"1234567\",\"B\":\"sessionId\",\"C\":\"completed\",\"D\":\"aaaaaaaaaaaa\",\"E\":\"my-own-model\","
	     "\"F\":\"good-secret\",\"G\":\"\",\"H\":\"\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"}",
	     NULL);
	check_unmasked(
		&x,
		"\"unmasked\":[{\"name\":\"secrets.A\",\"reason\":\"short\"},"
		"{\"name\":\"secrets.B\",\"reason\":\"word\"},{\"name\":\"secrets.C\",\"reason\":\"word\"},"
		"{\"name\":\"secrets.D\",\"reason\":\"repetitive\"},{\"name\":\"secrets.E\",\"reason\":\"word\"},"
		"{\"name\":\"secrets.H\",\"reason\":\"short\"}]");
	check_put(x.mask, "completed good-secret sessionId", false, "completed *** sessionId");
	secrets_done(&x);
}

static void test_old_values(void **state _unused_)
{
	struct secrets x = { 0 }, fork = { 0 };

	load(&x, "{\"A\":\"first-value\"}",
	     "{\"URL\":\"pg://me:pass-word-7@host/db\",\"PLAIN\":\"not-hidden\"}");
	load(&x, "{\"A\":\"second-value\"}",
	     "{\"GH_PAT\":\"third-value\",\"PATH\":\"/usr/local/bin\"}");
	check_unmasked(&x, "");
	check_put(
		x.mask,
		"first-value second-value third-value pg://me:pass-word-7@host not-hidden /usr/local/bin",
		false, "*** *** *** pg://me:***@host not-hidden /usr/local/bin");
	secrets_inherit(&fork, &x);
	check_put(fork.mask, "first-value second-value", false, "*** ***");
	secrets_done(&x);
	secrets_done(&fork);
}

/* Variables of the operator, and addresses with a password in them. */
static void test_others(void **state _unused_)
{
	const struct harness_env own[] = { { (char *)"IMAGE_TOKEN", (char *)"baked-in-value" },
					   { (char *)"LANG", (char *)"en_GB.UTF-8" } };
	const struct secrets_given g = {
		.provider = SLICE("{\"baseUrl\":\"https://me:base-pass@host/v1\"}"),
		.servers = SLICE("[{\"url\":\"http://u:url-password@host\"}]"),
		.operators = own,
		.noperators = 2
	};
	struct secrets x = { 0 };

	secrets_load(&x, &g);
	check_unmasked(&x, "");
	check_put(x.mask, "baked-in-value base-pass url-password en_GB.UTF-8", false,
		  "*** *** *** en_GB.UTF-8");
	secrets_done(&x);
}

/* What is replaced for ever is bounded; what is in force never makes room for it. */
static void test_bounded(void **state _unused_)
{
	enum { AT_ONCE = 50 };
	struct secrets x = { 0 };
	char json[AT_ONCE * 64];

	for (unsigned i = 0; i < SECRETS_MAX + AT_ONCE; i += AT_ONCE) {
		size_t n = 0;

		for (unsigned k = i; k < i + AT_ONCE; k++)
			n += snprintf(json + n, sizeof(json) - n, "%c\"A%u\":\"value-of-%u-th\"",
				      k == i ? '{' : ',', k, k);
		strcpy(json + n, "}");
		load(&x, json, "{\"MY_KEY\":\"stays-in-force\"}");
	}
	assert_true(x.n <= SECRETS_MAX);
	check_put(x.mask, "stays-in-force value-of-1073-th value-of-0-th", false,
		  "*** *** value-of-0-th");
	secrets_done(&x);
}

static void test_lines_of_a_key(void **state _unused_)
{
	struct secrets x = { 0 };

	load(&x,
	     "{\"PEM\":\"-----BEGIN KEY-----\\nMIIEvQIBADANBgkqhkiG\\nw0BAQEFAASCBKcwggSj\\n-----END KEY-----\\n\"}",
	     NULL);
	check_put(x.mask, "+MIIEvQIBADANBgkqhkiG\n+w0BAQEFAASCBKcwggSj\n", false, "+***\n+***\n");
	check_put(
		x.mask,
		"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nw0BAQEFAASCBKcwggSj\n-----END KEY-----\n.",
		false, "***\n.");
	secrets_done(&x);
}

/* Of a text that has been searched each part has what a search of the part finds. */
static void test_known_text(void **state _unused_)
{
	static const char text[] =
		"{\"a\":\"as\",\"b\":{\"c\":\"x sk-ab\",\"d\":[\"sk\",7,\"-k\"]},\"e\":\"\"}";
	_cleanup_(slice_freep) struct slice whole = exact_copy(slice_of(text));
	struct mask *m = mask_of(KEY), *other = mask_of("7 as in another secret");
	struct mask_known known;
	struct jiter it;
	struct jval v;

	mask_know(m, whole, &known);
	assert_int_equal(known.found, MASK_TAIL);
	assert_true(jiter_init(&it, (struct jval){ J_OBJECT, whole }));
	while (jiter_next(&it, NULL, &v)) {
		unsigned found = mask_find(m, v.raw);

		mask_use(&known);
		assert_int_equal(mask_find(m, v.raw), found);
		assert_int_equal(mask_hits(m, v.raw), found & MASK_HIT);
		mask_use(NULL);
	}
	mask_use(&known);
	assert_int_equal(mask_find(other, slice_of("7 as in another secret")), MASK_HIT);
	assert_int_equal(mask_find(m, slice_of(KEY)), MASK_HIT);
	mask_use(NULL);
	mask_free(other);
	mask_free(m);
}

/* More ends than are kept: what lies behind them is searched. */
static void test_known_many_ends(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct mask *m = mask_of(KEY);
	struct mask_known known;

	for (int i = 0; i < 2 * MASK_TAILS_MAX; i++)
		buf_puts(&b, "\"s\",");
	buf_puts(&b, "\"x\",\"s\"");
	mask_know(m, buf_slice(&b), &known);
	mask_use(&known);
	assert_int_equal(mask_find(m, (struct slice){ b.data, 3 }), MASK_TAIL);
	assert_int_equal(mask_find(m, (struct slice){ b.data + b.len - 3, 3 }), MASK_TAIL);
	assert_int_equal(mask_find(m, (struct slice){ b.data + b.len - 7, 3 }), 0);
	assert_false(mask_hits(m, buf_slice(&b)));
	mask_use(NULL);
	mask_free(m);
}

static void test_owners(void **state _unused_)
{
	struct mask *m = mask_of(KEY);

	assert_ptr_equal(mask_ref(m), m);
	mask_free(m);
	assert_int_equal(mask_find(m, slice_of("a " KEY)), MASK_HIT);
	mask_free(m);
	assert_null(mask_ref(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_json_stays_json),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_old_values),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_lines_of_a_key),
		cmocka_unit_test(test_ends_before_quote),
		cmocka_unit_test(test_json_within_json),
		cmocka_unit_test(test_known_text),
		cmocka_unit_test(test_known_many_ends),
		cmocka_unit_test(test_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
