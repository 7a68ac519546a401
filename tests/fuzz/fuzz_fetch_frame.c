/* Frames of acpd-fetch and for it: each is found at the same place however the bytes come, what a payload says lies inside it, and
 * what was taken can be put and is then the same. */
#include "fuzz.h"

#include "fetcher/wire/fetch_frame.h"

static void check_order(struct slice payload)
{
	struct fetch_order o, again;
	_cleanup_(buf_done) struct buf b = { 0 };

	if (fetch_order_parse(payload, &o) < 0)
		return;
	FUZZ_CHECK(slice_inside(o.headers, payload) && o.method[0] && o.url[0]);
	FUZZ_CHECK(o.body >= 0 && o.body <= (int64_t)FETCH_BODY_MAX && o.key >= 0);
	fetch_order_put(&b, &o);
	FUZZ_CHECK(fetch_order_parse(buf_slice(&b), &again) == 0);
	FUZZ_CHECK(strcmp(o.url, again.url) == 0 && o.idle_ms == again.idle_ms);
	fetch_order_done(&again);
	fetch_order_done(&o);
}

static void check_settings(struct slice payload)
{
	struct fetch_settings s;

	if (fetch_settings_parse(payload, &s) == 0)
		fetch_settings_done(&s);
}

static void check_answer(struct slice payload)
{
	struct fetch_headers h;
	struct slice headers;
	int status;

	if (fetch_answer_parse(payload, &status, &headers) < 0)
		return;
	FUZZ_CHECK(slice_inside(headers, payload) && is_json(headers, J_OBJECT));
	FUZZ_CHECK(status >= 200 && status <= 999 && fetch_headers_begin(&h, headers));
	while (fetch_headers_next(&h) > 0)
		FUZZ_CHECK(h.name[0] && !strpbrk(h.value, "\r\n"));
	fetch_headers_done(&h);
}

static void check_key(struct slice payload)
{
	struct slice name, prefix, value;

	if (fetch_key_parse(payload, &name, &prefix, &value) < 0)
		return;
	FUZZ_CHECK(slice_inside(name, payload) && slice_inside(prefix, payload) &&
		   slice_inside(value, payload) && name.n && value.n);
}

static void check_verdict(struct slice payload)
{
	struct fetch_verdict v;

	if (fetch_verdict_parse(payload, &v) < 0)
		return;
	FUZZ_CHECK(v.how < FETCH_END_MAX && memchr(v.why, 0, sizeof(v.why)));
	for (const char *p = v.why; *p; p++)
		FUZZ_CHECK((unsigned char)*p >= 0x20);
}

static void check_payload(const struct frame *f)
{
	_cleanup_(exact_free) struct slice payload = exact(f->payload.p, f->payload.n);
	uint32_t n;

	switch (f->type) {
	case FRAME_CONFIG:
		check_settings(payload);
		break;
	case FRAME_KEY:
		check_key(payload);
		break;
	case FRAME_OPEN:
		check_order(payload);
		break;
	case FRAME_TAKEN:
		FUZZ_CHECK((fetch_taken_parse(payload, &n) == 0) == (payload.n == 4));
		break;
	case FRAME_HEAD:
		check_answer(payload);
		break;
	case FRAME_END:
		check_verdict(payload);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct slice rest = all;
	struct frame f, again;
	ssize_t n;

	while ((n = frame_parse(rest, FRAME_MAX, &f)) > 0) {
		FUZZ_CHECK((size_t)n <= rest.n && slice_inside(f.payload, rest));
		FUZZ_CHECK(frame_parse((struct slice){ rest.p, (size_t)n - 1 }, FRAME_MAX,
				       &again) == 0);
		check_payload(&f);
		rest = slice_after(rest, (size_t)n);
	}
	return 0;
}
