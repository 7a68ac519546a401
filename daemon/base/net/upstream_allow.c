#include "base/net/upstream_allow.h"

#include "base/http/authority.h"
#include "base/http/http_fields.h"

#include <errno.h>

/* Takes the next entry off the front; false: there is none. */
static bool next_entry(struct slice *rest, struct slice *entry)
{
	if (!slice_item(rest, ',', entry))
		return false;
	*entry = slice_trim(*entry, " ");
	return true;
}

static struct slice without_dot(struct slice host)
{
	return host.n && host.p[host.n - 1] == '.' ? (struct slice){ host.p, host.n - 1 } : host;
}

int upstream_allow_check(const char *list, struct err *e)
{
	struct slice rest = slice_of(list), entry;
	struct authority a;

	while (next_entry(&rest, &entry))
		if (!authority_parse(entry, 1, &a))
			return err_field(e, "upstream-allow", "OPTION_INVALID",
					 "--upstream-allow: '%.*s' is not HOST or HOST:PORT",
					 (int)entry.n, entry.p);
	return 0;
}

bool upstream_allow_has(const char *list, struct slice host, int port)
{
	struct slice rest = slice_of(list), entry;
	struct authority a;

	while (next_entry(&rest, &entry))
		if (authority_parse(entry, 1, &a) && (a.port < 0 || a.port == port) &&
		    http_words_same(without_dot(a.host), without_dot(host)))
			return true;
	return false;
}
