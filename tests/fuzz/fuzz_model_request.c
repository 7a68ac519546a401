/* A request as a harness may send it to its listener. What comes out lies inside what went in; the headers that pass are one
 * JSON object without a key; a path that passes has nothing that two readers could understand differently. */
#include "fuzz.h"

#include "base/http/http_message.h"
#include "base/limits.h"
#include "model/model_api.h"

static void check_headers(enum model_api api, const struct http_request_head *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	model_request_headers(api, r->fields, &w);
	jw_end_obj(&w);
	FUZZ_CHECK(is_json(buf_slice(&b), J_OBJECT));
	FUZZ_CHECK(jobj_get(buf_slice(&b), "accept-encoding").type == J_STRING);
	FUZZ_CHECK(jobj_get(buf_slice(&b), "authorization").type == J_NONE);
	FUZZ_CHECK(jobj_get(buf_slice(&b), "x-api-key").type == J_NONE);
}

/* The body stands for the paths that a session adds. */
static struct slice more_of(enum model_api api, struct slice body)
{
	struct jval v;

	if (jscan_value(body, &v) != JSCAN_OK || v.type != J_ARRAY ||
	    model_paths_check(api, v.raw, "paths", NULL) < 0)
		return SLICE_NONE;
	return v.raw;
}

static void check_path(enum model_api api, const struct http_request_head *r, struct slice body)
{
	struct slice model = model_of_path(api, r->target), t = r->target;
	size_t n = t.n;

	FUZZ_CHECK(slice_inside(model, t));
	if (!model_path_passes(api, more_of(api, body), r->method, t))
		return;
	FUZZ_CHECK(slice_starts(t, model_api_root(api)));
	if (memchr(t.p, '?', t.n))
		n = (size_t)((const char *)memchr(t.p, '?', t.n) - t.p);
	FUZZ_CHECK(!memchr(t.p, '%', n) && !memchr(t.p, '\\', n) && !memmem(t.p, n, "//", 2) &&
		   !memmem(t.p, n, "/..", 3));
}

static void check_body(const struct http_request_head *r, struct slice in)
{
	struct message_body b;
	struct slice data;
	uint64_t sum = 0;

	http_body_begin_request(&b, &r->body);
	while (http_body_next(&b, &in, &data) > 0)
		sum += data.n;
	FUZZ_CHECK(r->body.chunked || sum <= r->body.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct http_request_head r;
	struct slice rest;
	ssize_t n = http_request_parse(all, MODEL_HEAD_MAX, &r);

	if (n <= 0)
		return 0;
	rest = slice_after(all, (size_t)n);
	FUZZ_CHECK((size_t)n <= all.n && slice_inside(r.method, all) && r.target.n &&
		   slice_inside(r.target, all) && slice_inside(r.fields, all));
	FUZZ_CHECK(!(r.body.has_length && r.body.chunked));
	for (int api = 0; api < MODEL_API_MAX; api++) {
		check_headers((enum model_api)api, &r);
		check_path((enum model_api)api, &r, rest);
	}
	check_body(&r, rest);
	return 0;
}
