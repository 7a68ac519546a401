/* model/calls.ndjson of a bundle, a line at a time, and the calls of it that are taken: each once, and only what is like the request. */
#include "fuzz.h"

#include "session/parts/bundle/recorded_calls.h"

#include <errno.h>

#define CWD "/workspace"

static unsigned asked(struct recorded_calls *r)
{
	unsigned n = 0;

	list_each(c, &r->calls, struct recorded_call, link)
		n += c->asked;
	return n;
}

static void take_all(struct recorded_calls *r, struct slice body)
{
	unsigned before = asked(r), n = 0;

	while (recorded_calls_take(r, "POST", "/v1/responses", body, CWD).call)
		FUZZ_CHECK(++n <= r->n);
	FUZZ_CHECK(asked(r) == before + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	const char *p = text.p, *end = text.p + text.n;
	struct recorded_calls r;

	recorded_calls_init(&r);
	while (p < end) {
		const char *to = memchr(p, '\n', (size_t)(end - p));
		struct slice line = { p, (size_t)((to ? to : end) - p) };
		int got = recorded_calls_add(&r, line, CWD);

		FUZZ_CHECK(got == 0 || got == -EINVAL || got == -ENOMEM || got == -EMSGSIZE ||
			   got == -E2BIG);
		p += line.n + 1;
	}
	list_each(c, &r.calls, struct recorded_call, link)
		FUZZ_CHECK(c->id && c->shape && (!c->status || c->headers));
	take_all(&r,
		 SLICE("{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"type\":\"message\"}]}"));
	take_all(&r, text);
	recorded_calls_done(&r);
	return 0;
}
