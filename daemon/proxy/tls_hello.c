/*
 * tls_hello.c - parses TLS records up to the end of the ClientHello, and takes the server name from
 * it.
 *
 * Input arrives in any pieces. The bytes of the handshake are collected, at most EGRESS_HELLO_MAX
 * and the message head, and the message is parsed once it is complete. The rules rely on the name,
 * so anything that two readers could understand differently is BROKEN. A state other than MORE is
 * final.
 */
#include "proxy/tls_hello.h"

#include "base/limits.h"
#include "base/util.h"

#define RECORD_HANDSHAKE 22
#define RECORD_MAX 16384
#define RECORDS_MAX 64 /* a hello in more pieces is no client's */
#define MESSAGE_HEAD 4
#define CLIENT_HELLO 1
#define RANDOM_BYTES 32
#define SESSION_ID_MAX 32
#define EXTENSION_SERVER_NAME 0
#define EXTENSION_ENCRYPTED 0xfe0d
#define NAME_HOST 0

/* --- the message ---------------------------------------------------------------------------------------------- */

/* Takes a number of so many bytes off the front. */
static bool tls_hello_take_number(struct slice *in, unsigned bytes, size_t *ret)
{
	if (in->n < bytes)
		return false;
	*ret = 0;
	for (unsigned i = 0; i < bytes; i++)
		*ret = *ret << 8 | (unsigned char)in->p[i];
	*in = slice_after(*in, bytes);
	return true;
}

static bool tls_hello_take_bytes(struct slice *in, size_t n, struct slice *ret)
{
	if (in->n < n)
		return false;
	*ret = (struct slice){ in->p, n };
	*in = slice_after(*in, n);
	return true;
}

/* What stands behind its own length, of so many bytes. */
static bool take_vector(struct slice *in, unsigned bytes, struct slice *ret)
{
	size_t n;

	return tls_hello_take_number(in, bytes, &n) && tls_hello_take_bytes(in, n, ret);
}

static bool tls_hello_take_name(struct tls_hello *h, struct slice name)
{
	if (h->named || !name.n || name.n > TLS_NAME_MAX || memchr(name.p, 0, name.n))
		return false;
	memcpy(h->name, name.p, name.n);
	h->name[name.n] = '\0';
	h->named = true;
	return true;
}

static bool read_names(struct tls_hello *h, struct slice text)
{
	struct slice list, name;
	size_t type;

	if (!take_vector(&text, 2, &list) || text.n || !list.n)
		return false;
	while (list.n) {
		if (!tls_hello_take_number(&list, 1, &type) || !take_vector(&list, 2, &name))
			return false;
		if (type == NAME_HOST && !tls_hello_take_name(h, name))
			return false;
	}
	return true;
}

static bool read_extensions(struct tls_hello *h, struct slice list)
{
	bool had_names = false;
	struct slice text;
	size_t type;

	while (list.n) {
		if (!tls_hello_take_number(&list, 2, &type) || !take_vector(&list, 2, &text))
			return false;
		if (type == EXTENSION_ENCRYPTED)
			h->encrypted = true;
		if (type != EXTENSION_SERVER_NAME)
			continue;
		if (had_names || !read_names(h, text))
			return false;
		had_names = true;
	}
	return true;
}

static bool read_hello(struct tls_hello *h, struct slice in)
{
	struct slice skipped, ciphers, methods, extensions;
	size_t version;

	if (!tls_hello_take_number(&in, 2, &version) || version >> 8 != 3 ||
	    !tls_hello_take_bytes(&in, RANDOM_BYTES, &skipped) || !take_vector(&in, 1, &skipped) ||
	    skipped.n > SESSION_ID_MAX)
		return false;
	if (!take_vector(&in, 2, &ciphers) || ciphers.n < 2 || ciphers.n % 2 ||
	    !take_vector(&in, 1, &methods) || !methods.n)
		return false;
	if (!in.n)
		return true; /* from before there were extensions */
	return take_vector(&in, 2, &extensions) && !in.n && read_extensions(h, extensions);
}

/* --- records -------------------------------------------------------------------------------------------------- */

/* Looks at what has come of the message. */
static void tls_hello_parse(struct tls_hello *h)
{
	struct slice text = buf_slice(&h->text);
	size_t type, n;

	if (!tls_hello_take_number(&text, 1, &type))
		return;
	if (type != CLIENT_HELLO)
		h->state = TLS_HELLO_BROKEN;
	else if (!tls_hello_take_number(&text, 3, &n))
		return;
	else if (n > EGRESS_HELLO_MAX)
		h->state = TLS_HELLO_BROKEN;
	else if (text.n >= n)
		h->state = read_hello(h, (struct slice){ text.p, n }) ? TLS_HELLO_WHOLE :
									TLS_HELLO_BROKEN;
}

static void begin_record(struct tls_hello *h)
{
	h->left = (size_t)h->record[3] << 8 | h->record[4];
	if (h->record[1] != 3 || !h->left || h->left > RECORD_MAX || ++h->nrecords > RECORDS_MAX)
		h->state = TLS_HELLO_BROKEN;
}

static void tls_hello_take_head(struct tls_hello *h, struct slice *in)
{
	h->record[h->nrecord++] = (unsigned char)*in->p;
	*in = slice_after(*in, 1);
	if (h->record[0] != RECORD_HANDSHAKE)
		h->state = h->nrecords ? TLS_HELLO_BROKEN : TLS_HELLO_NOT_TLS;
	else if (h->nrecord == sizeof(h->record))
		begin_record(h);
}

static void tls_hello_take_body(struct tls_hello *h, struct slice *in)
{
	size_t n = MIN(h->left, in->n);

	n = MIN(n, EGRESS_HELLO_MAX + MESSAGE_HEAD + 1 - buf_len(&h->text));
	if (buf_add(&h->text, in->p, n) < 0) {
		h->state = TLS_HELLO_BROKEN;
		return;
	}
	*in = slice_after(*in, n);
	h->left -= n;
	if (!h->left)
		h->nrecord = 0;
	tls_hello_parse(h);
}

enum tls_hello_state tls_hello_feed(struct tls_hello *h, struct slice in)
{
	while (in.n && h->state == TLS_HELLO_MORE) {
		if (h->nrecord < sizeof(h->record))
			tls_hello_take_head(h, &in);
		else
			tls_hello_take_body(h, &in);
	}
	if (h->state != TLS_HELLO_MORE)
		buf_done(&h->text);
	return h->state;
}

void tls_hello_done(struct tls_hello *h)
{
	buf_done(&h->text);
}
