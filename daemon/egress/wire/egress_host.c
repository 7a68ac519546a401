/*
 * egress_host.c - normalizes a host to the only form in which rules and requests are compared.
 *
 * An address is tried first and printed by inet_ntop, so all spellings of one address are equal. A
 * name whose last label is a number is refused, because inet_aton and browsers take it for an
 * address. Lengths are those of RFC 1035, 2.3.4.
 */
#include "egress/wire/egress_host.h"

#include "base/net/address_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define NAME_MAX_BYTES 253
#define LABEL_MAX_BYTES 63

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* As it is printed: so that two texts of one address are the same. */
static bool egress_host_take_address(struct slice text, struct egress_host *ret)
{
	struct sockaddr_storage a;
	const void *bytes = &((struct sockaddr_in *)&a)->sin_addr;

	if (!address_parse(text, &a))
		return false;
	if (a.ss_family == AF_INET6)
		bytes = &((struct sockaddr_in6 *)&a)->sin6_addr;
	inet_ntop(a.ss_family, bytes, ret->text, sizeof(ret->text));
	ret->n = strlen(ret->text);
	ret->address = true;
	return true;
}

/* Digits, or 0x and what follows: the last label of such a "name" makes it a number for inet_aton and browsers. */
static bool egress_host_is_number(struct slice label)
{
	return slice_starts(label, "0x") || slice_only(label, "0123456789");
}

static const char *check_label(struct slice label)
{
	if (!label.n)
		return "it has an empty label";
	if (label.n > LABEL_MAX_BYTES)
		return "it has a label of more than 63 bytes";
	if (label.p[0] == '-' || label.p[label.n - 1] == '-')
		return "a label begins or ends with '-'";
	return NULL;
}

static const char *check_labels(struct slice name)
{
	struct slice label = name;

	while (slice_item(&name, '.', &label)) {
		const char *bad = check_label(label);

		if (bad)
			return bad;
	}
	return egress_host_is_number(label) ? "it is a number, but no address" : NULL;
}

static const char *egress_host_take_name(struct slice text, struct egress_host *ret)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

	if (text.n > NAME_MAX_BYTES)
		return "it is longer than 253 bytes";
	for (size_t i = 0; i < text.n; i++) {
		char c = lower(text.p[i]);

		if ((unsigned char)c >= 0x80)
			return "it is not ASCII: write its A-labels (xn--...)";
		if (!memchr(bytes, c, strlen(bytes)))
			return "it has a character that no name has";
		ret->text[i] = c;
	}
	ret->n = text.n;
	ret->text[ret->n] = '\0';
	return check_labels((struct slice){ ret->text, ret->n });
}

static const char *egress_host_take_host(struct slice text, struct egress_host *ret)
{
	if (text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']') {
		text = (struct slice){ text.p + 1, text.n - 2 };
		return memchr(text.p, ':', text.n) && egress_host_take_address(text, ret) ?
			       NULL :
			       "no IPv6 address stands in the brackets";
	}
	if (egress_host_take_address(text, ret))
		return NULL;
	/* The final dot of an absolute name: the host is the same without it. */
	if (text.n && text.p[text.n - 1] == '.')
		text.n--;
	return egress_host_take_name(text, ret);
}

const char *egress_host_parse(struct slice text, struct egress_host *ret)
{
	const char *bad;

	*ret = (struct egress_host){ 0 };
	bad = egress_host_take_host(text, ret);
	if (bad)
		*ret = (struct egress_host){ 0 };
	return bad;
}
