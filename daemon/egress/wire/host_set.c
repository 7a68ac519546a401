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

/* False above the limit, too: further hosts are not reported. */
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

/* --- questions ------------------------------------------------------------------------------------------------ */

void host_questions_init(struct host_questions *q)
{
	*q = (struct host_questions){ .n = 0 };
	list_init(&q->all);
}

void host_questions_clear(struct host_questions *q)
{
	while (!list_empty(&q->all))
		host_questions_drop(q, list_first(&q->all, struct host_question, link));
}

struct host_question *host_questions_find(const struct host_questions *q, const char *host)
{
	list_each(x, (struct list *)&q->all, struct host_question, link)
		if (strcmp(x->host, host) == 0)
			return x;
	return NULL;
}

void host_questions_add(struct host_questions *q, const char *host, int port)
{
	struct host_question *x = new0(struct host_question);

	snprintf(x->host, sizeof(x->host), "%s", host);
	x->port = port;
	list_add_tail(&q->all, &x->link);
	q->n++;
	q->nopen++;
}

void host_questions_deny(struct host_questions *q, struct host_question *x, enum egress_reason why)
{
	x->no = why;
	q->nopen--;
}

void host_questions_drop(struct host_questions *q, struct host_question *x)
{
	q->nopen -= !x->no;
	q->n--;
	list_del(&x->link);
	free(x);
}
