#include "fetch/call_headers.h"

#include "base/limits.h"
#include "base/os/locked.h"
#include "base/util.h"
#include "fetcher/wire/fetch_headers.h"

#include <stdio.h>
#include <strings.h>

/* What libcurl adds by itself, unless the order has it. Without a value a line keeps it from doing so. */
static const char *const unwanted[] = { "Accept", "Accept-Encoding", "Content-Type", "User-Agent",
					"Expect" };

static bool add(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer)
		*list = longer;
	return longer;
}

static bool add_pair(struct curl_slist **list, const char *name, const char *value)
{
	char *line = NULL;
	bool ok;

	/* a semicolon is how libcurl is told to send an empty value */
	if (asprintf(&line, *value ? "%s: %s" : "%s;%s", name, value) < 0)
		return false;
	ok = add(list, line);
	explicit_bzero(line, strlen(line));
	free(line);
	return ok;
}

static void note(bool *has, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
		has[i] = has[i] || strcasecmp(unwanted[i], name) == 0;
}

struct curl_slist *call_headers(struct slice json, const char *key)
{
	bool has[ARRAY_SIZE(unwanted)] = { false }, ok = true;
	struct curl_slist *list = NULL;
	struct fetch_headers h;
	int r = 0;

	if (!fetch_headers_begin(&h, json))
		return NULL;
	while (ok && (r = fetch_headers_next(&h)) > 0) {
		note(has, h.name);
		ok = add_pair(&list, h.name, h.value);
	}
	fetch_headers_done(&h);
	for (size_t i = 0; ok && i < ARRAY_SIZE(unwanted); i++) {
		char line[32];

		snprintf(line, sizeof(line), "%s:", unwanted[i]);
		if (!has[i])
			ok = add(&list, line);
	}
	if (ok && key)
		ok = add(&list, key);
	if (ok && r == 0)
		return list;
	call_headers_free(list);
	return NULL;
}

void call_headers_free(struct curl_slist *list)
{
	for (struct curl_slist *l = list; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
}
