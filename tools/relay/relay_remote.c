/*
 * relay_remote.c - an MCP server over HTTP that the client named for a session without open network, called by acpd-fetch.
 *
 * Header values are secrets: every copy made here is wiped.
 */
#include "tools/relay/relay_internal.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

/* "Name: value"; NULL: it is none. */
static char *relay_remote_header_line(struct slice pair)
{
	_cleanup_(freep) char *name = NULL, *value = NULL;
	char *line = NULL;

	if (jstr_decode(jobj_get(pair, "name"), HOSTED_STRING_MAX, &name) == 0 &&
	    jstr_decode(jobj_get(pair, "value"), HOSTED_STRING_MAX, &value) == 0 &&
	    asprintf(&line, "%s: %s", name, value) < 0)
		abort();
	secret_text_wipe(value);
	return line;
}

/* Of all of them, with NULL at the end; freed with header_lines_free. */
static int relay_remote_header_lines(struct slice pairs, char ***ret, struct err *e)
{
	size_t n = 0;
	int r = 0;

	jarr_each(v, pairs) {
		char *line = relay_remote_header_line(v.raw);

		if (!line)
			r = err_field(e, "headers", "HEADER_INVALID",
				      "headers: one is too long, or has a byte zero");
		if (r < 0)
			break;
		*GROW(*ret, n) = line;
	}
	/* Ends the list with NULL, also after an error, for header_lines_free. */
	(void)GROW(*ret, n);
	return r;
}

static void header_lines_free(char ***lines)
{
	for (char **line = *lines; line && *line; line++) {
		secret_text_wipe(*line);
		free(*line);
	}
	free(*lines);
}

struct relay_server *relay_remote_new(struct loop *loop, const struct mcp_remote_config *config,
				      struct slice headers, struct err *e)
{
	_cleanup_(header_lines_free) char **lines = NULL;
	struct mcp_remote_config rc = *config;
	struct relay_server *c;

	if (relay_remote_header_lines(headers, &lines, e) < 0)
		return NULL;
	rc.headers = lines;
	c = relay_server_blank(loop);
	c->remote = true;
	c->server = mcp_remote_new(loop, &rc, &relay_server_events, c, e);
	return c->server ? c : relay_server_free(c);
}
