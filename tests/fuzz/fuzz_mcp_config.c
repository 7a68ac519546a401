/* A configuration file of MCP servers: whatever it holds, an entry is either fit to be started or named by an issue, and no issue shows a
 * value. */
#include "fuzz.h"

#include "base/limits.h"
#include "tools/hosted/mcpfile.h"

#include <strings.h>

#define SECRET "q8Zs3cretQ8z"

static char *const env[] = { "PATH=/usr/bin", "TOKEN=" SECRET, "LINE=a\nb", "EMPTY=", NULL };

static bool one_line(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static void check_stdio(const struct mcpfile_entry *e)
{
	FUZZ_CHECK(e->argv && e->argv[0] && *e->argv[0] && !e->url && !e->headers.n);
	for (size_t i = 0; i < e->env.n; i++)
		FUZZ_CHECK(mcpfile_env_name_ok(e->env.at[i].name));
}

static void check_http(const struct mcpfile_entry *e)
{
	FUZZ_CHECK(e->url && !e->argv && one_line(e->url));
	FUZZ_CHECK(strncasecmp(e->url, "http://", 7) == 0 ||
		   strncasecmp(e->url, "https://", 8) == 0);
	for (size_t i = 0; i < e->headers.n; i++)
		FUZZ_CHECK(*e->headers.at[i].name && !strpbrk(e->headers.at[i].name, ": \t") &&
			   one_line(e->headers.at[i].name) && one_line(e->headers.at[i].value));
}

static void check_entry(const struct mcpfile *f, const struct mcpfile_entry *e)
{
	size_t n = strlen(e->name);

	FUZZ_CHECK(n && n <= HOSTED_NAME_MAX && strcmp(e->name, "acpd") != 0 &&
		   !strpbrk(e->name, "/. \n\""));
	if (e->refused)
		FUZZ_CHECK(mcpfile_error(f, e->name) || f->more_issues);
	else if (!e->disabled && e->transport == MCPFILE_STDIO)
		check_stdio(e);
	else if (!e->disabled)
		check_http(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };

	mcpfile_parse(&f, text, env);
	FUZZ_CHECK(is_json(text, J_OBJECT) || (f.n == 0 && mcpfile_error(&f, NULL)));
	FUZZ_CHECK(f.n <= HOSTED_SERVERS_MAX && f.nissues <= HOSTED_ISSUES_MAX);
	for (size_t i = 0; i < f.n; i++)
		check_entry(&f, &f.entries[i]);
	for (size_t i = 0; i < f.nissues; i++) {
		check_err(&f.issues[i].why);
		FUZZ_CHECK(!strstr(f.issues[i].why.msg, SECRET) &&
			   !strstr(f.issues[i].why.field, SECRET));
	}
	return 0;
}
