#include "base/http/authority.h"

#include "base/format/digits.h"

#define PORT_MAX 65535

static bool has_strange_byte(struct slice host)
{
	for (size_t i = 0; i < host.n; i++)
		if ((unsigned char)host.p[i] <= 0x20 || strchr("/@[]\x7f", host.p[i]))
			return true;
	return false;
}

/* Takes the host off the front of s. */
static bool authority_take_host(struct slice *s, struct slice *host)
{
	bool six = slice_skip(s, "[");
	const char *end = s->n ? memchr(s->p, six ? ']' : ':', s->n) : NULL;

	if (six && !end)
		return false;
	*host = (struct slice){ s->p, end ? (size_t)(end - s->p) : s->n };
	*s = (struct slice){ s->p + host->n, s->n - host->n };
	if (six && (!slice_skip(s, "]") || !memchr(host->p, ':', host->n)))
		return false;
	return host->n > 0 && !has_strange_byte(*host);
}

bool authority_parse(struct slice text, int port_min, struct authority *ret)
{
	struct slice host;
	uint64_t port;

	if (!authority_take_host(&text, &host))
		return false;
	if (!text.n) {
		*ret = (struct authority){ host, -1 };
		return true;
	}
	if (!slice_skip(&text, ":") || !u64_parse(text, &port) || port < (uint64_t)port_min ||
	    port > PORT_MAX)
		return false;
	*ret = (struct authority){ host, (int)port };
	return true;
}
