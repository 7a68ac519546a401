/* What the harness is told of checks that failed: all that helps to mend them, and no more than fits. */
#include "unit.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/check/turn_proof.h"

static char *told(const char *results, const char *checks)
{
	struct turn_proof p = { .attempt = 1, .attempts = 3, .results = xstrdup(results) };
	_cleanup_(buf_done) struct buf b = { 0 };
	char *text = NULL;
	struct jval v;
	struct jiter it;

	turn_retry_put(&p, slice_of(checks), &b);
	turn_proof_done(&p);
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	assert_true(jiter_init(&it, v));
	assert_true(jiter_next(&it, NULL, &v));
	assert_true(jstr_is(jobj_get(v.raw, "type"), "text"));
	assert_int_equal(jstr_decode(jobj_get(v.raw, "text"), 1 * MIB, &text), 0);
	return text;
}

#define HEAD                                                                                       \
	"What you did was checked, and it does not hold yet. This is attempt 2 of 3. Mend what "   \
	"is found wrong below; it will be checked again when you are done.\n"

static void check(const char *results, const char *checks, const char *wanted)
{
	_cleanup_(freep) char *text = told(results, checks);

	assert_string_equal(text, wanted);
}

static void kinds(void **state _unused_)
{
	check("[]", NULL, HEAD);
	check("[{\"id\":\"a\",\"kind\":\"command\",\"ok\":true,\"exitCode\":0}]", NULL, HEAD);
	check("[{\"id\":\"a\",\"kind\":\"command\",\"ok\":false,\"exitCode\":3,\"durationMs\":9,"
	      "\"stdoutTail\":\"\",\"stderrTail\":\"no\\n\",\"leftBehind\":2,\"changed\":null}]",
	      "[{\"id\":\"a\",\"kind\":\"command\",\"argv\":[\"x\"]}]",
	      HEAD "\nCheck a (command) failed.\nIt ended with exit code 3.\n"
		   "Its error output ends with:\n```\nno\n```\n");
	check("[{\"id\":\"a\",\"kind\":\"command\",\"ok\":false,\"signal\":\"SIGSEGV\"},"
	      "{\"id\":\"b\",\"kind\":\"command\",\"ok\":false,"
	      "\"error\":{\"reason\":\"CHECK_TIMED_OUT\",\"message\":\"too late\"}}]",
	      NULL,
	      HEAD "\nCheck a (command) failed.\nIt was ended by SIGSEGV.\n"
		   "\nCheck b (command) failed.\nIt could not be carried out: too late\n");
	check("[{\"id\":\"t\",\"kind\":\"tests\",\"ok\":false,\"tests\":{\"passed\":4,\"failed\":2,"
	      "\"skipped\":0,\"failures\":[{\"suite\":\"s\",\"name\":\"n\",\"message\":\"m\"},"
	      "{\"name\":\"o\"}]},\"outputTail\":\"x\"}]",
	      "[{\"id\":\"t\",\"kind\":\"tests\",\"minPassed\":5}]",
	      HEAD "\nCheck t (tests) failed.\nIts rule minPassed: 5\nTests: 2 failed, 4 passed.\n"
		   "- n in s: m\n- o\nIts output ends with:\n```\nx\n```\n");
	check("[{\"id\":\"p\",\"kind\":\"paths\",\"ok\":false,\"offending\":[\"a b\",\"c\"],"
	      "\"offendingTotal\":2},{\"id\":\"d\",\"kind\":\"diffSize\",\"ok\":false,"
	      "\"counts\":{\"files\":2}}]",
	      "[{\"id\":\"d\",\"maxFiles\":1},{\"id\":\"p\",\"deny\":[\"*.c\"]}]",
	      HEAD "\nCheck p (paths) failed.\nIts rule deny: [\"*.c\"]\n"
		   "Changed against its rules:\n- a b\n- c\n"
		   "\nCheck d (diffSize) failed.\nIts rule maxFiles: 1\nChanged: {\"files\":2}\n");
}

/* A member that this does not know is shown as it stands. */
static void unknown(void **state _unused_)
{
	check("[{\"id\":\"a\",\"kind\":\"later\",\"ok\":false,\"found\":[1,2]}]", NULL,
	      HEAD "\nCheck a (later) failed.\nfound: [1,2]\n");
}

/* Of a text the end, from a whole character on; of many results so many as fit. */
static void bounds(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *text = NULL;

	buf_puts(&b, "[");
	for (int i = 0; i < 32; i++) {
		buf_printf(&b,
			   "%s{\"id\":\"c%d\",\"kind\":\"command\",\"ok\":false,\"stderrTail\":\"",
			   i ? "," : "", i);
		for (int n = 0; n < 5000; n++)
			buf_puts(&b, "ä");
		buf_puts(&b, "\"}");
	}
	buf_puts(&b, "]");
	buf_putc(&b, '\0');
	text = told(b.data, NULL);
	assert_in_range(strlen(text), RETRY_TEXT_MAX / 2, RETRY_TEXT_MAX + 256);
	assert_non_null(strstr(text, "```\nä"));
	assert_null(strstr(text, "c31"));
	assert_non_null(strstr(text, " more checks failed.\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(unknown),
		cmocka_unit_test(bounds),
	};

	return RUN(tests, NULL, NULL);
}
