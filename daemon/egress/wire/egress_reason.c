/*
 * egress_reason.c - one row for each reason of a refusal: name, HTTP status line, sentence, and
 * whether it counts as a block.
 *
 * acpd-proxy answers clients from these rows and sends the name to the daemon. A reason without
 * status belongs to a tunnel that is already open, where no HTTP answer is possible. Only blocks
 * are reported to the session; all others are failures or mistakes of the client.
 */
#include "egress/wire/egress_reason.h"

#include "base/util.h"

const struct egress_reason_row egress_reasons[EGRESS_REASON_MAX] = {
	[EGRESS_HOST_NOT_ALLOWED] = { "HOST_NOT_ALLOWED", "403 Forbidden",
				      "the session's network does not allow this host", true },
	[EGRESS_PORT_NOT_ALLOWED] = { "PORT_NOT_ALLOWED", "403 Forbidden",
				      "the session's network does not allow this port of the host",
				      true },
	[EGRESS_HOST_INVALID] = { "HOST_INVALID", "400 Bad Request",
				  "the host is neither a name nor an address in its usual form",
				  true },
	[EGRESS_HOST_MISMATCH] = { "HOST_MISMATCH", "400 Bad Request",
				   "the header Host names another host than the request", true },
	[EGRESS_ADDRESS_NOT_ALLOWED] = { "ADDRESS_NOT_ALLOWED", "403 Forbidden",
					 "the host has no address on the public internet", true },
	[EGRESS_ASK_DENIED] = { "ASK_DENIED", "403 Forbidden",
				"who was asked for this host said no", true },
	[EGRESS_ASK_TIMEOUT] = { "ASK_TIMEOUT", "403 Forbidden",
				 "nobody answered in time whether this host is allowed", true },
	[EGRESS_ASK_TOO_MANY] = { "ASK_TOO_MANY", "403 Forbidden",
				  "too many questions for hosts are open", true },
	[EGRESS_SNI_MISMATCH] = { "SNI_MISMATCH", NULL, "TLS names another host than the tunnel",
				  true },
	[EGRESS_SNI_MISSING] = { "SNI_MISSING", NULL, "TLS does not name the host", true },
	[EGRESS_HELLO_INVALID] = { "HELLO_INVALID", NULL, "the beginning of TLS is broken", true },
	[EGRESS_NOT_TLS] = { "NOT_TLS", NULL,
			     "what goes through the tunnel is not TLS, and no rule writes that port",
			     true },
	[EGRESS_CALLER_NOT_ALLOWED] = { "CALLER_NOT_ALLOWED", "403 Forbidden",
					"this proxy is another user's", false },
	[EGRESS_REQUEST_INVALID] = { "REQUEST_INVALID", "400 Bad Request",
				     "this is no request for a proxy: CONNECT HOST:PORT, or http://",
				     false },
	[EGRESS_REQUEST_TOO_LARGE] = { "REQUEST_TOO_LARGE", "431 Request Header Fields Too Large",
				       "the head of the request is too large", false },
	[EGRESS_TOO_MANY_CONNECTIONS] = { "TOO_MANY_CONNECTIONS", "503 Service Unavailable",
					  "too many connections are open", false },
	[EGRESS_NAME_NOT_FOUND] = { "NAME_NOT_FOUND", "502 Bad Gateway",
				    "the name of the host is not found", false },
	[EGRESS_LOOKUP_FAILED] = { "LOOKUP_FAILED", "502 Bad Gateway",
				   "the name of the host could not be looked up", false },
	[EGRESS_LOOKUP_TIMEOUT] = { "LOOKUP_TIMEOUT", "504 Gateway Timeout",
				    "the name of the host was not looked up in time", false },
	[EGRESS_CONNECT_FAILED] = { "CONNECT_FAILED", "502 Bad Gateway",
				    "no connection to the host", false },
	[EGRESS_CONNECT_TIMEOUT] = { "CONNECT_TIMEOUT", "504 Gateway Timeout",
				     "no connection to the host in time", false },
	[EGRESS_ANSWER_INVALID] = { "ANSWER_INVALID", "502 Bad Gateway",
				    "what the host answered is not HTTP", false },
};

enum egress_reason egress_reason_find(struct slice name)
{
	for (unsigned i = EGRESS_FINE + 1; i < EGRESS_REASON_MAX; i++)
		if (slice_is(name, egress_reasons[i].name))
			return (enum egress_reason)i;
	return EGRESS_FINE;
}
