/*
 * tls_hello.h - the beginning of TLS as it passes: finds the ClientHello and the host that it names (RFC 8446, 4.1.2;
 * RFC 6066, 3). Pure.
 *
 * A hello may be cut anywhere, into reads and into records. Each byte is looked at once or twice, and no more than
 * EGRESS_HELLO_MAX of them are kept. Unknown extensions and GREASE are passed over; what two readers could understand
 * differently (a name that comes twice, a length that does not fit) is broken. All zeros is right to begin with.
 *
 * With encrypted ClientHello the name here is that of the server in front. Whether there is another one inside cannot
 * be seen: browsers send the extension to everybody.
 */
#pragma once

#include "base/buf.h"

#define TLS_NAME_MAX 255

enum tls_hello_state {
	TLS_HELLO_MORE,
	TLS_HELLO_WHOLE,
	TLS_HELLO_NOT_TLS, /* the first byte says so */
	TLS_HELLO_BROKEN,
};

struct tls_hello {
	enum tls_hello_state state;
	unsigned char record[5];
	unsigned nrecord;  /* bytes of it that have come */
	size_t left;	   /* of the record */
	unsigned nrecords; /* their number */
	struct buf text;   /* the message so far */
	/* once it is whole */
	bool named, encrypted;
	char name[TLS_NAME_MAX + 1]; /* as it came; without NUL inside */
};

/* The next bytes. Behind another state than MORE nothing is looked at any more. */
enum tls_hello_state tls_hello_feed(struct tls_hello *h, struct slice in);
void tls_hello_done(struct tls_hello *h);
