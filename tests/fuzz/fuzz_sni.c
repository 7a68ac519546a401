/* The beginning of TLS as a client may send it. Cutting it elsewhere changes nothing; what follows it is not looked at; a name is
 * part of what came. */
#include "fuzz.h"

#include "base/limits.h"
#include "proxy/tls_hello.h"

static struct tls_hello feed(struct slice in, size_t step)
{
	struct tls_hello h = { 0 };

	while (in.n && h.state == TLS_HELLO_MORE) {
		_cleanup_(exact_free) struct slice piece = exact(in.p, MIN(step, in.n));

		tls_hello_feed(&h, piece);
		FUZZ_CHECK(buf_len(&h.text) <= EGRESS_HELLO_MAX + 8);
		in = (struct slice){ in.p + piece.n, in.n - piece.n };
	}
	return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct tls_hello whole = feed(all, size + 1);

	FUZZ_CHECK(memchr(whole.name, 0, sizeof(whole.name)));
	FUZZ_CHECK(!whole.named || (whole.name[0] && whole.state >= TLS_HELLO_WHOLE));
	for (size_t step = 1; step < size; step = step * 3 + 1) {
		struct tls_hello cut = feed(all, step);

		FUZZ_CHECK(cut.state == whole.state && cut.encrypted == whole.encrypted);
		FUZZ_CHECK(strcmp(cut.name, whole.name) == 0);
		tls_hello_done(&cut);
	}
	tls_hello_done(&whole);
	return 0;
}
