/*
 * digest.h - SHA-256 and what authentication builds on it, by libcrypto (libwebsockets maps it anyway). SHA-512 only
 * because E2B names its access tokens by it, SHA-1 only as the name that git gives a file's content, which the patches of
 * diff/ must carry.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX (2 * SHA256_BYTES + 1)
#define SHA512_BYTES 64
#define GIT_ID_HEX 41

struct sha256 {
	unsigned char bytes[SHA256_BYTES];
};

/* 0, or -EIO if libcrypto refuses. */
int sha256_of(struct slice data, struct sha256 *ret);

/* SHA-256 of bytes that come in pieces: begin, add any number of times, end. Nothing to free. */
struct sha256_stream {
	uint64_t state[16]; /* libcrypto's own */
};

void sha256_begin(struct sha256_stream *s);
void sha256_add(struct sha256_stream *s, const void *p, size_t n);
void sha256_end(struct sha256_stream *s, struct sha256 *ret);

/* RFC 2104 with SHA-256. */
void hmac_sha256(struct slice key, struct slice data, struct sha256 *ret);

/* Compares all bytes in constant time. */
bool sha256_equal(const struct sha256 *a, const struct sha256 *b);
/* Returns out. */
const char *sha256_hex(const struct sha256 *d, char out[SHA256_HEX]);
/* In memory of the block around it. */
#define SHA256_HEX_OF(d) sha256_hex(d, (char[SHA256_HEX]){ 0 })
/* Exactly 64 hex digits; -EINVAL otherwise. */
int sha256_from_hex(struct slice hex, struct sha256 *ret);

/* The same as "sha256:<64 hex digits>", as digests are written in messages and on disk. sha256_text returns out. */
#define SHA256_TEXT (sizeof("sha256:") - 1 + SHA256_HEX)
const char *sha256_text(const struct sha256 *d, char out[SHA256_TEXT]);
#define SHA256_TEXT_OF(d) sha256_text(d, (char[SHA256_TEXT]){ 0 })
int sha256_parse(struct slice text, struct sha256 *ret);

struct sha512 {
	unsigned char bytes[SHA512_BYTES];
};

/* As their namesakes above. */
int sha512_of(struct slice data, struct sha512 *ret);
bool sha512_equal(const struct sha512 *a, const struct sha512 *b);
int sha512_from_hex(struct slice hex, struct sha512 *ret);

/* base64url without padding to bytes; returns length or -EINVAL. out has room for text.n bytes. */
int base64url_decode(struct slice text, unsigned char *out);
/* The id that git (SHA-1 format) gives a blob of these bytes, as hex. 0, or -EIO if libcrypto refuses. */
int git_blob_id(struct slice data, char out[GIT_ID_HEX]);
/* Overwrites memory that held a secret. */
void secret_wipe(void *p, size_t n);
