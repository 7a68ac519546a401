/* What the process of a check answers, whatever it is: it is no success unless it says how it ended, evidence is bounded, failures are
 * JSON, and a signal is a word. The first byte says which kind of check it is. */
#include "fuzz.h"

#include "base/limits.h"
#include "session/parts/check/check_internal.h"

static void check(const struct check_spec *c, const struct check_evidence *v)
{
	_cleanup_(buf_done) struct buf list = { 0 };

	if (*v->error.reason)
		check_err(&v->error);
	FUZZ_CHECK(v->ended || !v->ok);
	FUZZ_CHECK(!v->ok || !v->by_signal);
	FUZZ_CHECK(!v->by_signal || strncmp(v->signal, "SIG", 3) == 0);
	FUZZ_CHECK(v->nfailures <= CHECK_FAILURES_MAX && buf_len(&v->failures) <= CHECK_TEXT_MAX);
	FUZZ_CHECK(v->tests == (c->kind == CHECK_TESTS) || !v->ok);
	FUZZ_CHECK(v->passed >= 0 && v->failed >= 0 && v->skipped >= 0);
	buf_printf(&list, "[%.*s]", (int)buf_len(&v->failures),
		   buf_slice(&v->failures).p ? buf_slice(&v->failures).p : "");
	FUZZ_CHECK(is_json(buf_slice(&list), J_ARRAY));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct check_spec c = { .kind = size && *data == 't' ? CHECK_TESTS : CHECK_COMMAND,
				.min_passed = 1 };
	_cleanup_(exact_free) struct slice line = exact(data + (size > 0), size ? size - 1 : 0);
	_cleanup_(check_evidence_done) struct check_evidence v = { 0 };

	check_answer_take(&c, line, &v);
	check(&c, &v);
	return 0;
}
