/* The one-shot EVP call would load providers and openssl.cnf: a megabyte and two milliseconds for one hash. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "digest/digest.h"

#include "base/format/digits.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

/* The context holds bytes of what was hashed, which may be a secret. */
int sha256_of(struct slice data, struct sha256 *ret)
{
	SHA256_CTX ctx;

	if (SHA256_Init(&ctx) != 1 || SHA256_Update(&ctx, data.p, data.n) != 1 ||
	    SHA256_Final(ret->bytes, &ctx) != 1)
		return -EIO;
	secret_wipe(&ctx, sizeof(ctx));
	return 0;
}

/* libcrypto's low-level functions refuse only a NULL context. */
_Static_assert(sizeof(struct sha256_stream) >= sizeof(SHA256_CTX), "room for the state");

void sha256_begin(struct sha256_stream *s)
{
	SHA256_Init((SHA256_CTX *)s);
}

void sha256_add(struct sha256_stream *s, const void *p, size_t n)
{
	SHA256_Update((SHA256_CTX *)s, p, n);
}

void sha256_end(struct sha256_stream *s, struct sha256 *ret)
{
	SHA256_Final(ret->bytes, (SHA256_CTX *)s);
}

/* RFC 2104: a key longer than a block is hashed first; 0x36 and 0x5c are its ipad and opad. The pads and the state are
 * derived from the key, so both are wiped. */
void hmac_sha256(struct slice key, struct slice data, struct sha256 *ret)
{
	unsigned char pad[SHA256_CBLOCK] = { 0 };
	struct sha256_stream s;

	if (key.n > sizeof(pad)) {
		sha256_begin(&s);
		sha256_add(&s, key.p, key.n);
		sha256_end(&s, ret);
		memcpy(pad, ret->bytes, SHA256_BYTES);
	} else if (key.n) {
		memcpy(pad, key.p, key.n);
	}
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36;
	sha256_begin(&s);
	sha256_add(&s, pad, sizeof(pad));
	sha256_add(&s, data.p, data.n);
	sha256_end(&s, ret);
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_begin(&s);
	sha256_add(&s, pad, sizeof(pad));
	sha256_add(&s, ret->bytes, SHA256_BYTES);
	sha256_end(&s, ret);
	secret_wipe(pad, sizeof(pad));
	secret_wipe(&s, sizeof(s));
}

bool sha256_equal(const struct sha256 *a, const struct sha256 *b)
{
	return CRYPTO_memcmp(a->bytes, b->bytes, SHA256_BYTES) == 0;
}

const char *sha256_hex(const struct sha256 *d, char out[SHA256_HEX])
{
	hex_put(d->bytes, SHA256_BYTES, out);
	return out;
}

/* Exactly n bytes, in either case: hex that others write. */
static int from_hex(struct slice hex, unsigned char *bytes, size_t n)
{
	if (hex.n != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int hi = hex_digit(hex.p[2 * i]), lo = hex_digit(hex.p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -EINVAL;
		bytes[i] = (unsigned char)(hi << 4 | lo);
	}
	return 0;
}

int sha256_from_hex(struct slice hex, struct sha256 *ret)
{
	return from_hex(hex, ret->bytes, SHA256_BYTES);
}

const char *sha256_text(const struct sha256 *d, char out[SHA256_TEXT])
{
	memcpy(out, "sha256:", sizeof("sha256:"));
	sha256_hex(d, out + strlen(out));
	return out;
}

int sha256_parse(struct slice text, struct sha256 *ret)
{
	return slice_skip(&text, "sha256:") ? sha256_from_hex(text, ret) : -EINVAL;
}

int sha512_of(struct slice data, struct sha512 *ret)
{
	SHA512_CTX ctx;

	if (SHA512_Init(&ctx) != 1 || SHA512_Update(&ctx, data.p, data.n) != 1 ||
	    SHA512_Final(ret->bytes, &ctx) != 1)
		return -EIO;
	secret_wipe(&ctx, sizeof(ctx));
	return 0;
}

bool sha512_equal(const struct sha512 *a, const struct sha512 *b)
{
	return CRYPTO_memcmp(a->bytes, b->bytes, SHA512_BYTES) == 0;
}

int sha512_from_hex(struct slice hex, struct sha512 *ret)
{
	return from_hex(hex, ret->bytes, SHA512_BYTES);
}

static int base64url_digit(char c)
{
	static const char set[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c ? strchr(set, c) : NULL;

	return at ? (int)(at - set) : -1;
}

int base64url_decode(struct slice text, unsigned char *out)
{
	unsigned bits = 0, have = 0;
	int n = 0;

	if (text.n % 4 == 1)
		return -EINVAL;
	for (size_t i = 0; i < text.n; i++) {
		int d = base64url_digit(text.p[i]);

		if (d < 0)
			return -EINVAL;
		bits = bits << 6 | (unsigned)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (unsigned char)(bits >> have);
		}
	}
	return n;
}

/* git hashes a header with the length first, ended by a NUL. */
int git_blob_id(struct slice data, char out[GIT_ID_HEX])
{
	unsigned char id[SHA_DIGEST_LENGTH];
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %zu", data.n) + 1;
	SHA_CTX ctx;

	if (SHA1_Init(&ctx) != 1 || SHA1_Update(&ctx, head, (size_t)n) != 1 ||
	    SHA1_Update(&ctx, data.p, data.n) != 1 || SHA1_Final(id, &ctx) != 1)
		return -EIO;
	hex_put(id, sizeof(id), out);
	return 0;
}

void secret_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}
