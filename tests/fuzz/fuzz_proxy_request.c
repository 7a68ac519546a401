/* A request to a proxy: what is taken lies inside what came, more bytes behind it change nothing, and what its server gets is a
 * request that says the same, with one Host and no field for the proxy. Then the rest, as an answer of that server. */
#include "fuzz.h"

#include "base/http/http_message.h"
#include "base/limits.h"
#include "proxy/proxy.h"
#include "proxy/proxy_request.h"

static void check_put(const struct proxy_request *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct http_request_head head;
	struct slice fields, line, name, value;
	unsigned hosts = 0;

	proxy_request_put(r, &b);
	if (r->old) /* it is read as 1.1, which alone that parser takes */
		((char *)memmem(b.data, b.len, " HTTP/1.0\r\n", 11))[8] = '1';
	FUZZ_CHECK(http_request_parse(buf_slice(&b), b.len + 1, &head) == (ssize_t)b.len);
	FUZZ_CHECK(head.target.p[0] == '/' && head.body.chunked == r->body.chunked &&
		   head.body.length == r->body.length && head.stays == r->upgrade);
	for (fields = head.fields; http_line_next(&fields, &line);) {
		FUZZ_CHECK(http_field_split(line, &name, &value));
		hosts += http_word_is(name, "host");
		FUZZ_CHECK(name.n < 6 || !http_word_is((struct slice){ name.p, 6 }, "proxy-"));
	}
	FUZZ_CHECK(hosts == 1);
}

static void check_answer(struct slice in)
{
	_cleanup_(buf_done) struct buf whole = { 0 }, cut = { 0 };
	struct answer_pass a = { .may_switch = true }, c = { .may_switch = true };
	int r = answer_pass_feed(&a, in, &whole), rc = 0;
	uint32_t seed = FUZZ_SEED(1, in);

	for (struct slice rest = in; rc >= 0 && rest.n;) {
		_cleanup_(exact_free) struct slice piece = fuzz_cut(&seed, &rest);

		rc = answer_pass_feed(&c, piece, &cut);
	}
	FUZZ_CHECK(!in.n || (r < 0) == (rc < 0));
	FUZZ_CHECK(r < 0 || (a.over == c.over && a.whole == c.whole &&
			     slice_eq(buf_slice(&whole), buf_slice(&cut))));
	answer_pass_done(&a);
	answer_pass_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct proxy_request r, alone;
	enum egress_reason why;
	ssize_t n = proxy_request_parse(all, &r, &why);

	FUZZ_CHECK((n < 0) == (why != EGRESS_FINE));
	FUZZ_CHECK(r.host.n == strlen(r.host.text) && slice_inside(r.written, all));
	if (n <= 0)
		return 0;
	FUZZ_CHECK((size_t)n <= all.n && r.host.n && r.port > 0 && r.port < 65536);
	FUZZ_CHECK(slice_inside(r.method, all) && slice_inside(r.path, all));
	FUZZ_CHECK(proxy_request_parse((struct slice){ all.p, (size_t)n - 1 }, &alone, &why) == 0);
	if (!r.tunnel)
		check_put(&r);
	check_answer(slice_after(all, (size_t)n));
	return 0;
}
