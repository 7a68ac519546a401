/* Header values from outside: nobody passes without the token itself, whatever else the headers say. */
#include "fuzz.h"

#include "digest/digest.h"
#include "net/claim/admission.h"

#include <ctype.h>
#include <strings.h>

/* 24 bytes: exactly 32 characters in base64url, so that there is only one way to write it. */
#define TOKEN "fuzz-token-of-24-bytes-x"
#define TOKEN_B64 "ZnV6ei10b2tlbi1vZi0yNC1ieXRlcy14"

static struct admission *gate, *open_gate;

static void setup(void)
{
	const struct admission_config strict = { .allow_hosts = "api.example.com,host:81",
						 .allow_origins = "https://app.example.com",
						 .allow_query_token = false };
	const struct admission_config query = { .allow_query_token = true };
	char digest[7 + SHA256_HEX] = "sha256:";
	struct sha256 d;
	struct err e;

	sha256_of(SLICE(TOKEN), &d);
	sha256_hex(&d, digest + 7);
	gate = admission_new(&strict);
	open_gate = admission_new(&query);
	FUZZ_CHECK(admission_claim(gate, slice_of(digest), &e) == 0);
	FUZZ_CHECK(admission_claim(open_gate, slice_of(digest), &e) == 0);
}

static bool holds(struct slice s, const char *text)
{
	return s.n && memmem(s.p, s.n, text, strlen(text));
}

static void check_token(struct slice authorization, struct slice protocols, struct slice query)
{
	bool ok = admission_grant(gate, authorization, protocols, query);
	bool with_query = admission_grant(open_gate, authorization, protocols, query);

	FUZZ_CHECK(!ok || with_query);
	FUZZ_CHECK(!ok || holds(authorization, TOKEN) ||
		   holds(protocols, "acpd.bearer." TOKEN_B64));
	FUZZ_CHECK(ok || !with_query || slice_is(query, TOKEN));
}

static struct slice upper(struct slice s)
{
	struct slice copy = exact(s.p, s.n);

	for (size_t i = 0; i < s.n; i++)
		((char *)(uintptr_t)copy.p)[i] = (char)toupper((unsigned char)s.p[i]);
	return copy;
}

static void check_host(struct slice host)
{
	_cleanup_(exact_free) struct slice loud = upper(host);
	bool ok = admission_host_ok(gate, host);

	FUZZ_CHECK(ok == admission_host_ok(gate, loud));
	/* a name of letters is only good if it is listed, localhost, or of the form of E2B */
	if (ok && host.n && isalpha((unsigned char)host.p[0]) && host.p[0] != '[')
		FUZZ_CHECK(strncasecmp(host.p, "localhost", MIN(host.n, 9u)) == 0 ||
			   strncasecmp(host.p, "api.example.com", MIN(host.n, 15u)) == 0 ||
			   strncasecmp(host.p, "host:81", host.n) == 0);
	FUZZ_CHECK(!ok || host.n > 0);
}

static void check_subprotocol(struct slice protocols)
{
	const char *selected = admission_subprotocol(protocols);

	FUZZ_CHECK(!selected || !selected[0] || holds(protocols, "acp.v1"));
	FUZZ_CHECK(!selected || selected[0] == '\0' || strcmp(selected, "acp.v1") == 0);
}

static void check_decoders(struct slice text)
{
	_cleanup_(freep) unsigned char *out = xalloc(text.n);
	int n = base64url_decode(text, out);
	struct sha256 d;
	char hex[SHA256_HEX];

	FUZZ_CHECK(n < 0 || (size_t)n == text.n * 3 / 4);
	if (sha256_from_hex(text, &d) == 0) {
		sha256_hex(&d, hex);
		FUZZ_CHECK(text.n == 64 && strncasecmp(hex, text.p, 64) == 0);
	}
}

/* Lines: host, origin, authorization, subprotocols, query. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size }, lines[5] = { SLICE_NONE };
	size_t n = 0;

	if (!gate)
		setup();
	while (n < ARRAY_SIZE(lines) && next_piece(&rest, '\n', &lines[n])) {
		lines[n] = exact(lines[n].p, lines[n].n);
		n++;
	}
	check_host(lines[0]);
	FUZZ_CHECK(!admission_origin_ok(gate, lines[1]) || !lines[1].n ||
		   strncasecmp(lines[1].p, "https://app.example.com", lines[1].n) == 0);
	check_token(lines[2], lines[3], lines[4]);
	check_subprotocol(lines[3]);
	check_decoders(lines[4]);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		exact_free(&lines[i]);
	return 0;
}
