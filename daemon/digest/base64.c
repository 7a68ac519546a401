/*
 * base64.c - base64 by libcrypto, with the checks that libcrypto leaves out.
 *
 * EVP_DecodeBlock skips white space and takes padding for zeros. So alphabet, length and padding are checked before it is
 * called.
 */
#include "digest/base64.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>

int base64_encode(struct slice bytes, struct buf *ret)
{
	size_t n = (bytes.n + 2) / 3 * 4;
	int r = bytes.n > INT_MAX / 2 ? -E2BIG : buf_reserve(ret, n + 1);

	if (r < 0)
		return r;
	EVP_EncodeBlock((unsigned char *)ret->data + ret->len, (const unsigned char *)bytes.p,
			(int)bytes.n);
	ret->len += n;
	return 0;
}

static bool base64_is_digit(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/';
}

int base64_decode(struct slice text, struct buf *ret)
{
	size_t padding = 0;
	int r, n;

	/* libcrypto's own function skips white space and takes padding for zeros */
	while (padding < 2 && padding < text.n && text.p[text.n - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text.n - padding; i++)
		if (!base64_is_digit(text.p[i]))
			return -EINVAL;
	if (text.n % 4 || text.n > INT_MAX / 2)
		return -EINVAL;
	r = text.n ? buf_reserve(ret, text.n / 4 * 3) : 0;
	if (r < 0 || !text.n)
		return r;
	n = EVP_DecodeBlock((unsigned char *)ret->data + ret->len, (const unsigned char *)text.p,
			    (int)text.n);
	if (n < 0)
		return -EINVAL;
	ret->len += (size_t)n - padding;
	return 0;
}
