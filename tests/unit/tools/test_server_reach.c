/* URLs of servers that a harness reaches by itself: those that name no host and port are refused. */
#include "unit.h"

#include "base/util.h"
#include "tools/relay/relay_internal.h"

static const struct {
	const char *url;
	bool ok;
} rows[] = {
	{ "http://mcp.example.org", true },
	{ "https://mcp.example.org:8443/mcp?a#b", true },
	{ "http://user:pass@mcp.example.org:80/", true },
	{ "http://[2001:db8::1]:80/", true },
	{ "ftp://mcp.example.org", false },
	{ "http://", false },
	{ "http:///x", false },
	{ "http://mcp.example.org:0", false },
	{ "http://mcp.example.org:65536", false },
	{ "http://mcp.example.org:", false },
	{ "http://mcp.example.org:80x/", false },
	{ "http://mcp.example.org: 80/", false },
	{ "http://mcp.example.org:4294967376/", false },
	{ "http://[2001:db8::1/", false },
	{ "http://:80/", false },
};

static void urls_name_a_host_and_a_port(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err e = { 0 };
		int r = server_reach_url(rows[i].url, "url", &e);

		if ((r == 0) != rows[i].ok || (r < 0 && strcmp(e.reason, "MCP_URL_INVALID") != 0))
			fail_row(i, rows[i].url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(urls_name_a_host_and_a_port) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
