#include "fetcher/wire/fetch_headers.h"

#include "base/http/header.h"
#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

#include <errno.h>

bool fetch_headers_begin(struct fetch_headers *h, struct slice text)
{
	struct jval v;

	*h = (struct fetch_headers){ .it = { NULL, NULL, true } };
	if (!text.n)
		return true;
	return jscan_value(text, &v) == JSCAN_OK && v.type == J_OBJECT && jiter_init(&h->it, v);
}

int fetch_headers_next(struct fetch_headers *h)
{
	struct slice key;
	struct jval v;

	fetch_headers_done(h);
	if (!h->it.p || !jiter_next(&h->it, &key, &v))
		return 0;
	/* the key's text lies between its quotes */
	if (jstr_decode((struct jval){ J_STRING, { key.p - 1, key.n + 2 } }, FETCH_HEAD_MAX,
			&h->name) < 0 ||
	    jstr_decode(v, FETCH_HEAD_MAX, &h->value) < 0)
		return -EINVAL;
	return header_name_ok(slice_of(h->name)) && header_value_ok(h->value) ? 1 : -EINVAL;
}

void fetch_headers_done(struct fetch_headers *h)
{
	free(TAKE_PTR(h->name));
	if (h->value)
		explicit_bzero(h->value, strlen(h->value));
	free(TAKE_PTR(h->value));
}
