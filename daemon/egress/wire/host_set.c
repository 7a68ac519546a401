#include "egress/wire/host_set.h"

#include "base/util.h"
#include "base/limits.h"

bool host_set_has(const struct host_set *s, const char *host)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->hosts[i], host) == 0)
			return true;
	return false;
}

bool host_set_add(struct host_set *s, const char *host)
{
	if (s->n == EGRESS_HOSTS_TOLD || host_set_has(s, host))
		return false;
	*GROW(s->hosts, s->n) = xstrdup(host);
	return true;
}

void host_set_done(struct host_set *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->hosts[i]);
	free(s->hosts);
	*s = (struct host_set){ 0 };
}
