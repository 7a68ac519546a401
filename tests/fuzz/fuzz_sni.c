/* The beginning of TLS as a client may send it. Cutting it elsewhere changes nothing; what follows it is not looked at; a name is
 * part of what came. */
#include "fuzz.h"

#include "base/limits.h"
#include "proxy/tls_hello.h"

static struct tls_hello feed(struct slice in, uint32_t seed)
{
	struct tls_hello h = { 0 };

	while (in.n && h.state == TLS_HELLO_MORE) {
		_cleanup_(exact_free) struct slice piece = fuzz_cut(&seed, &in);

		tls_hello_feed(&h, piece);
		FUZZ_CHECK(buf_len(&h.text) <= EGRESS_HELLO_MAX + 8);
	}
	return h;
}

static void check(struct slice all)
{
	struct tls_hello whole = feed(all, 0);

	FUZZ_CHECK(memchr(whole.name, 0, sizeof(whole.name)));
	FUZZ_CHECK(!whole.named || (whole.name[0] && whole.state >= TLS_HELLO_WHOLE));
	for (uint32_t i = 1; i <= FUZZ_CUTS; i++) {
		struct tls_hello cut = feed(all, FUZZ_SEED(i, all));

		FUZZ_CHECK(cut.state == whole.state && cut.encrypted == whole.encrypted);
		FUZZ_CHECK(strcmp(cut.name, whole.name) == 0);
		tls_hello_done(&cut);
	}
	tls_hello_done(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	_cleanup_(buf_done) struct buf blown = { 0 };

	check(all);
	fuzz_blow_up(all, &blown);
	check(buf_slice(&blown));
	return 0;
}
