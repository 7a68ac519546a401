/* SHA-256, its text form, and base64url as browsers send it. */
#include "unit.h"

#include "digest/digest.h"

static void test_sha256_vectors(void **state _unused_)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char hex[SHA256_HEX];
		struct sha256 d, back;

		assert_int_equal(sha256_of(slice_of(rows[i].text), &d), 0);
		sha256_hex(&d, hex);
		assert_string_equal(hex, rows[i].hex);
		assert_int_equal(sha256_from_hex(slice_of(hex), &back), 0);
		assert_true(sha256_equal(&d, &back));
	}
}

static void test_million_a(void **state _unused_)
{
	_cleanup_(freep) char *a = xalloc(1000000);
	char hex[SHA256_HEX];
	struct sha256 d;

	memset(a, 'a', 1000000);
	assert_int_equal(sha256_of((struct slice){ a, 1000000 }, &d), 0);
	sha256_hex(&d, hex);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* FIPS 180-4; the hash of nothing is that of an E2B sandbox without a token. */
static void test_sha512_vectors(void **state _unused_)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{ "", "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
		      "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e" },
		{ "abc", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
			 "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
		  "klmnopqrlmnopqrsmnopqrstnopqrstu",
		  "8E959B75DAE313DA8CF4F72814FC143F8F7779C6EB9F7FA17299AEADB6889018"
		  "501D289E4900F7E4331B99DEC4B5433AC7D329EEB6DD26545E96E55B874BE909" },
	};
	struct sha512 d, want;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(sha512_of(slice_of(rows[i].text), &d), 0);
		assert_int_equal(sha512_from_hex(slice_of(rows[i].hex), &want), 0);
		assert_true(sha512_equal(&d, &want));
		want.bytes[SHA512_BYTES - 1] ^= 1;
		assert_false(sha512_equal(&d, &want));
	}
	assert_int_equal(sha512_from_hex((struct slice){ rows[0].hex, 127 }, &d), -EINVAL);
	assert_int_equal(sha512_from_hex(SLICE_NONE, &d), -EINVAL);
}

/* In pieces of any size. */
static void test_stream(void **state _unused_)
{
	static const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	struct sha256 want, got;

	sha256_of(slice_of(text), &want);
	for (size_t step = 1; step < sizeof(text); step++) {
		struct sha256_stream s;

		sha256_begin(&s);
		for (size_t at = 0; at < sizeof(text) - 1; at += step)
			sha256_add(&s, text + at, MIN(step, sizeof(text) - 1 - at));
		sha256_end(&s, &got);
		assert_true(sha256_equal(&want, &got));
	}
}

/* RFC 4231, cases 1, 2 and 6 */
static void test_hmac(void **state _unused_)
{
	static char ones[20], long_key[131];
	static const struct {
		struct slice key;
		const char *data, *want;
	} rows[] = {
		{ { ones, sizeof(ones) },
		  "Hi There",
		  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ { "Jefe", 4 },
		  "what do ya want for nothing?",
		  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ { long_key, sizeof(long_key) },
		  "Test Using Larger Than Block-Size Key - Hash Key First",
		  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
	};

	memset(ones, 0x0b, sizeof(ones));
	memset(long_key, 0xaa, sizeof(long_key));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sha256 d;
		char hex[SHA256_HEX];

		hmac_sha256(rows[i].key, slice_of(rows[i].data), &d);
		sha256_hex(&d, hex);
		if (strcmp(hex, rows[i].want) != 0)
			fail_row(i, rows[i].data);
	}
}

static void test_equal(void **state _unused_)
{
	struct sha256 a, b;

	sha256_of(SLICE("x"), &a);
	for (int bit = 0; bit < 8 * SHA256_BYTES; bit++) {
		b = a;
		b.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_false(sha256_equal(&a, &b));
	}
}

static void test_from_hex(void **state _unused_)
{
	char hex[] = "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	struct sha256 d;

	assert_int_equal(sha256_from_hex(slice_of(hex), &d), 0);
	assert_int_equal(d.bytes[0], 0xba);
	assert_int_equal(sha256_from_hex((struct slice){ hex, 63 }, &d), -EINVAL);
	assert_int_equal(sha256_from_hex(SLICE_NONE, &d), -EINVAL);
	for (size_t at = 0; at < 64; at += 9) {
		for (int c = 0; c < 256; c++) {
			char keep = hex[at];
			bool digit = c && strchr("0123456789abcdefABCDEF", c);

			hex[at] = (char)c;
			assert_int_equal(sha256_from_hex((struct slice){ hex, 64 }, &d),
					 digit ? 0 : -EINVAL);
			hex[at] = keep;
		}
	}
}

static int decode(const char *text, char *out)
{
	_cleanup_(slice_freep) struct slice in = exact_copy(slice_of(text));
	_cleanup_(freep) unsigned char *exact = malloc(in.n ? in.n : 1);
	int n = base64url_decode(in, exact);

	if (n > 0)
		memcpy(out, exact, (size_t)n);
	return n;
}

static void test_base64url(void **state _unused_)
{
	static const struct {
		const char *text, *bytes;
	} rows[] = {
		{ "", "" },
		{ "Zg", "f" },
		{ "Zm8", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg", "foob" },
		{ "Zm9vYmE", "fooba" },
		{ "Zm9vYmFy", "foobar" },
		{ "_-A", "\xff\xe0" },
		{ "-_-_", "\xfb\xff\xbf" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[16];

		assert_int_equal(decode(rows[i].text, out), strlen(rows[i].bytes));
		assert_memory_equal(out, rows[i].bytes, strlen(rows[i].bytes));
	}
}

static void test_base64url_refused(void **state _unused_)
{
	static const char *const rows[] = { "Z",      "Zm9vY", "Zg==", "Zg=",	"Zm8=",
					    "Zm+v",   "Zm/v",  "Zm 9", "Zm9\n", "\xc3\xa9",
					    "Zm9v\n", ".",     "Zm9*" };
	static const char nul[] = { 'Z', 'm', 0, 'v' };
	unsigned char out[8];
	char room[16];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (decode(rows[i], room) != -EINVAL)
			fail_row(i, rows[i]);
	assert_int_equal(base64url_decode((struct slice){ nul, 4 }, out), -EINVAL);
}

/* As git hash-object says. */
static void test_git_blob_id(void **state _unused_)
{
	char id[GIT_ID_HEX];

	assert_int_equal(git_blob_id(SLICE_NONE, id), 0);
	assert_string_equal(id, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
	assert_int_equal(git_blob_id(SLICE("hello\n"), id), 0);
	assert_string_equal(id, "ce013625030ba8dba906f756967f9e9ca394464a");
}

static void test_wipe(void **state _unused_)
{
	char secret[] = "a secret";

	secret_wipe(secret, sizeof(secret));
	for (size_t i = 0; i < sizeof(secret); i++)
		assert_int_equal(secret[i], 0);
	secret_wipe(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256_vectors),
		cmocka_unit_test(test_sha512_vectors),
		cmocka_unit_test(test_million_a),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_hmac),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_from_hex),
		cmocka_unit_test(test_base64url),
		cmocka_unit_test(test_base64url_refused),
		cmocka_unit_test(test_wipe),
		cmocka_unit_test(test_git_blob_id),
	};

	return RUN(tests, NULL, NULL);
}
