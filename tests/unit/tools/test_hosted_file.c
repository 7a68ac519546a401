/* Configuration files of MCP servers, one row each: what is understood, what is refused by entry and field, and what only warns. A row's
 * outcome is written as text: entries, then issues ("!" an error, "?" a warning) as entry.field REASON. */
#include "unit.h"

#include "base/limits.h"
#include "tools/hosted/mcpfile.h"

#include <grp.h>
#include <sys/stat.h>

static char *const allowed[] = { "PATH=/usr/bin", "TOKEN=s3cret", "EMPTY=", "BRACES=${TOKEN}",
				 "PORT=8080",	  "LINE=a\nb",	  NULL };

struct row {
	const char *text, *want;
};

#define SERVERS(entries) "{\"mcpServers\":{" entries "}}"
#define ONE(members) SERVERS("\"a\":{" members "}")

static const struct row rows[] = {
	/* what is understood */
	{ SERVERS(""), "" },
	{ "  " SERVERS("") "\n", "" },
	{ ONE("\"command\":\"x\""), "a=stdio[x]" },
	{ ONE("\"command\":\"x\",\"args\":[]"), "a=stdio[x]" },
	{ ONE("\"command\":\"npx\",\"args\":[\"-y\",\"@scope/server@latest\",\"\"],\"env\":{}"),
	  "a=stdio[npx,-y,@scope/server@latest,]" },
	{ ONE("\"type\":\"stdio\",\"command\":\"x\",\"cwd\":\"sub\",\"env\":{\"A\":\"1\",\"B\":\"\"}"),
	  "a=stdio[x]cwd:sub env:A=1,B=" },
	{ ONE("\"command\":\"x\",\"args\":null,\"env\":null,\"cwd\":null,\"type\":null,\"disabled\":null"),
	  "a=stdio[x]" },
	{ ONE("\"url\":\"http://127.0.0.1:8080/mcp\""), "a=http[http://127.0.0.1:8080/mcp]" },
	{ ONE("\"type\":\"http\",\"url\":\"http://h/\",\"headers\":{\"Authorization\":\"Bearer t\",\"X-A\":\"\"}"),
	  "a=http[http://h/]headers:Authorization=Bearer t,X-A=" },
	{ ONE("\"type\":\"streamable-http\",\"url\":\"HTTPS://h/\""), "a=http[HTTPS://h/]" },
	{ ONE("\"type\":\"streamableHttp\",\"url\":\"http://h/\""), "a=http[http://h/]" },
	{ SERVERS("\"b\":{\"command\":\"x\"},\"a\":{\"command\":\"y\"}"), "b=stdio[x] a=stdio[y]" },
	{ SERVERS("\"A_b-9\":{\"command\":\"x\"}"), "A_b-9=stdio[x]" },
	{ SERVERS("\"\\u0061\":{\"c\\u006fmmand\":\"\\u0078\"}"), "a=stdio[x]" },
	{ ONE("\"command\":\"x\",\"description\":\"what it is for\""), "a=stdio[x]" },
	{ "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"$schema\":\"https://h/s.json\"}",
	  "a=stdio[x]" },

	/* disabled: there, and not looked at */
	{ ONE("\"command\":\"x\",\"disabled\":true"), "a=disabled" },
	{ ONE("\"command\":\"x\",\"disabled\":false"), "a=stdio[x]" },
	{ ONE("\"disabled\":true"), "a=disabled" },
	{ ONE("\"command\":\"${NOT_SET}\",\"args\":[1],\"disabled\":true"), "a=disabled" },
	{ ONE("\"command\":\"x\",\"disabled\":\"true\""), "a=refused !a.disabled FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"disabled\":1"), "a=refused !a.disabled FIELD_INVALID" },

	/* expansion, from the allowed environment and nothing else */
	{ ONE("\"command\":\"${TOKEN}\""), "a=stdio[s3cret]" },
	{ ONE("\"command\":\"x\",\"args\":[\"--header\",\"Authorization: Bearer ${TOKEN}\",\"${PORT}${PORT}\"]"),
	  "a=stdio[x,--header,Authorization: Bearer s3cret,80808080]" },
	{ ONE("\"command\":\"x\",\"env\":{\"A\":\"${NOT_SET:-b}\",\"B\":\"${NOT_SET:-}\",\"C\":\"${TOKEN:-b}\"}"),
	  "a=stdio[x]env:A=b,B=,C=s3cret" },
	{ ONE("\"command\":\"x\",\"args\":[\"${EMPTY:-b}\",\"${EMPTY}\",\"${N:-a:-b}\",\"${N:-$x}\"]"),
	  "a=stdio[x,,,a:-b,$x]" },
	{ ONE("\"command\":\"x\",\"args\":[\"$TOKEN\",\"$\",\"$$\",\"{TOKEN}\",\"}\",\"$ {TOKEN}\"]"),
	  "a=stdio[x,$TOKEN,$,$$,{TOKEN},},$ {TOKEN}]" },
	{ ONE("\"command\":\"x\",\"args\":[\"${BRACES}\"],\"cwd\":\"/${PORT}\""),
	  "a=stdio[x,${TOKEN}]cwd:/8080" },
	{ ONE("\"url\":\"http://h:${PORT}/${N:-mcp}\",\"headers\":{\"A\":\"${TOKEN}\"}"),
	  "a=http[http://h:8080/mcp]headers:A=s3cret" },
	{ ONE("\"command\":\"x\",\"args\":[\"ok\",\"${NOT_SET}\"]"),
	  "a=refused !a.args[1] ENV_UNSET" },
	{ ONE("\"command\":\"x\",\"env\":{\"A\":\"${HOME}\"}"), "a=refused !a.env.A ENV_UNSET" },
	{ ONE("\"command\":\"x\",\"env\":{\"A\":\"1\",\"B\":\"${A}\"}"),
	  "a=refused !a.env.B ENV_UNSET" },
	{ ONE("\"command\":\"${TOKEN\""), "a=refused !a.command EXPANSION_INVALID" },
	{ ONE("\"command\":\"${}\""), "a=refused !a.command EXPANSION_INVALID" },
	{ ONE("\"command\":\"${:-x}\""), "a=refused !a.command EXPANSION_INVALID" },
	{ ONE("\"command\":\"${env:TOKEN}\""), "a=refused !a.command EXPANSION_INVALID" },
	{ ONE("\"command\":\"${1}\""), "a=refused !a.command EXPANSION_INVALID" },
	{ ONE("\"command\":\"${TOKEN:-${PORT}}\""), "a=stdio[s3cret}]" },
	{ ONE("\"command\":\"${EMPTY}\""), "a=refused !a.command FIELD_INVALID" },
	{ ONE("\"url\":\"http://h/${LINE}\""), "a=refused !a.url FIELD_INVALID" },
	{ ONE("\"url\":\"http://h/\",\"headers\":{\"A\":\"${LINE}\"}"),
	  "a=refused !a.headers.A FIELD_INVALID" },

	/* types */
	{ ONE(""), "a=refused !a.command FIELD_MISSING" },
	{ ONE("\"type\":\"http\""), "a=refused !a.url FIELD_MISSING" },
	{ ONE("\"type\":\"stdio\",\"url\":\"http://h/\""), "a=refused !a.command FIELD_MISSING" },
	{ ONE("\"command\":\"x\",\"url\":\"http://h/\""), "a=refused !a.type ENTRY_AMBIGUOUS" },
	{ ONE("\"type\":\"http\",\"command\":\"x\",\"args\":[\"${N}\"],\"url\":\"http://h/\""),
	  "a=http[http://h/] ?a.command FIELD_UNUSED ?a.args FIELD_UNUSED" },
	{ ONE("\"command\":\"x\",\"headers\":{}"), "a=stdio[x] ?a.headers FIELD_UNUSED" },
	{ ONE("\"type\":\"sse\",\"url\":\"http://h/sse\""),
	  "a=refused !a.type TRANSPORT_UNSUPPORTED" },
	{ ONE("\"type\":\"ws\",\"url\":\"http://h/\""), "a=refused !a.type FIELD_INVALID" },
	{ ONE("\"type\":\"STDIO\",\"command\":\"x\""), "a=refused !a.type FIELD_INVALID" },
	{ ONE("\"type\":1,\"command\":\"x\""), "a=refused !a.type FIELD_INVALID" },
	{ ONE("\"url\":\"ftp://h/\""), "a=refused !a.url FIELD_INVALID" },
	{ ONE("\"url\":\"/mcp\""), "a=refused !a.url FIELD_INVALID" },

	/* fields */
	{ ONE("\"command\":\"\""), "a=refused !a.command FIELD_INVALID" },
	{ ONE("\"command\":[\"x\"]"), "a=refused !a.command FIELD_INVALID" },
	{ ONE("\"command\":\"x\\u0000y\""), "a=refused !a.command FIELD_INVALID" },
	{ ONE("\"command\":\"\\ud800\""), "a=refused !a.command FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"command\":\"y\""), "a=refused !a. FIELD_DUPLICATE" },
	{ ONE("\"command\":\"x\",\"args\":\"y\""), "a=refused !a.args FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"args\":[\"y\",8080]"), "a=refused !a.args[1] FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"args\":[null]"), "a=refused !a.args[0] FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"env\":[]"), "a=refused !a.env FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"env\":{\"PORT\":8080}"), "a=refused !a.env.PORT FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"env\":{\"A=B\":\"1\"}"), "a=refused !a.env.A=B NAME_INVALID" },
	{ ONE("\"command\":\"x\",\"env\":{\"\":\"1\"}"), "a=refused !a.env. NAME_INVALID" },
	{ ONE("\"command\":\"x\",\"env\":{\"ACPD_OWNER\":\"1\"}"),
	  "a=refused !a.env.ACPD_OWNER NAME_INVALID" },
	{ ONE("\"command\":\"x\",\"env\":{\"A\":\"1\",\"\\u0041\":\"2\"}"),
	  "a=refused !a.env.\\u0041 FIELD_DUPLICATE" },
	{ ONE("\"url\":\"http://h/\",\"headers\":{\"A:\":\"1\"}"),
	  "a=refused !a.headers.A: NAME_INVALID" },
	{ ONE("\"url\":\"http://h/\",\"headers\":{\"Content-Length\":\"1\"}"),
	  "a=refused !a.headers.Content-Length NAME_INVALID" },
	{ ONE("\"url\":\"http://h/\",\"headers\":{\"A\":null}"),
	  "a=refused !a.headers.A FIELD_INVALID" },
	{ ONE("\"command\":\"x\",\"timeout\":5,\"auto\\u0041pprove\":[]"),
	  "a=stdio[x] ?a.timeout KEY_UNKNOWN ?a.auto\\u0041pprove KEY_UNKNOWN" },

	/* names, and entries beside a bad one */
	{ SERVERS("\"acpd\":{\"command\":\"x\"},\"b\":{\"command\":\"y\"}"),
	  "b=stdio[y] !acpd.name NAME_RESERVED" },
	{ SERVERS("\"a b\":{\"command\":\"x\"}"), "!a b.name NAME_INVALID" },
	{ SERVERS("\"\":{\"command\":\"x\"}"), "!.name NAME_INVALID" },
	{ SERVERS("\"a/../b\":{\"command\":\"x\"}"), "!a/../b.name NAME_INVALID" },
	{ SERVERS("\"n\\u00e4h\":{\"command\":\"x\"}"), "!n\xc3\xa4h.name NAME_INVALID" },
	{ SERVERS("\"a\":{\"command\":\"x\"},\"a\":{\"command\":\"y\"}"),
	  "a=stdio[x] !a.name NAME_DUPLICATE" },
	{ SERVERS("\"a\":\"x\",\"b\":{\"command\":\"y\"}"),
	  "a=refused b=stdio[y] !a. FIELD_INVALID" },
	{ SERVERS("\"a\":{\"args\":[]},\"b\":{\"command\":\"${N}\"},\"c\":{\"command\":\"y\"}"),
	  "a=refused b=refused c=stdio[y] !a.command FIELD_MISSING !b.command ENV_UNSET" },

	/* the file */
	{ "", "!(file). JSON_INVALID" },
	{ "null", "!(file). JSON_INVALID" },
	{ "[]", "!(file). JSON_INVALID" },
	{ "{\"mcpServers\":{\"a\":{\"command\":\"x\"},}}", "!(file). JSON_INVALID" },
	{ "// servers\n" SERVERS(""), "!(file). JSON_INVALID" },
	{ "\xef\xbb\xbf" SERVERS(""), "!(file). JSON_INVALID" },
	{ SERVERS("") "}", "!(file). JSON_INVALID" },
	{ SERVERS("\"a\":{\"command\":\"\xff\"}"), "!(file). JSON_INVALID" },
	{ "{\"mcpServers\":{},\"mcpServers\":{}}", "!(file). JSON_INVALID" },
	{ "{}", "!(file).mcpServers FIELD_MISSING" },
	{ "{\"servers\":{\"a\":{\"command\":\"x\"}}}",
	  "?(file).servers KEY_UNKNOWN !(file).mcpServers FIELD_MISSING" },
	{ "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"inputs\":[]}\n",
	  "a=stdio[x] ?(file).inputs KEY_UNKNOWN" },
	{ "{\"mcpServers\":[]}", "!(file).mcpServers FIELD_INVALID" },
	{ "{\"mcpServers\":null}", "!(file).mcpServers FIELD_INVALID" },
	{ "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"inputs\":[]}",
	  "a=stdio[x] ?(file).inputs KEY_UNKNOWN" },
	{ "{\"mcpServers\":{},\"mcp_servers\":[]}", "!(file).mcp_servers FILE_AMBIGUOUS" },
	{ "{\"mcpServers\":{},\"env\":[]}", "!(file).env FIELD_INVALID" },
	{ "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"env\":{\"1\":\"x\"}}",
	  "!(file).env.1 NAME_INVALID" },

	/* the other form: a list, the words local and remote, variables for all */
	{ "{\"name\":\"box\",\"env\":{\"V\":\"22\",\"T\":\"${TOKEN}\"},\"metadata\":{},\"startup\":{\"install\":[\"true\"]},"
	  "\"ports\":{\"mcp\":8080},\"mcp_servers\":["
	  "{\"name\":\"far\",\"type\":\"remote\",\"url\":\"http://localhost:${PORT}\",\"description\":\"d\"},"
	  "{\"name\":\"near\",\"type\":\"local\",\"command\":\"x\",\"args\":[\"${V}\"],\"env\":{\"V\":\"23\"}},"
	  "{\"name\":\"half\",\"type\":\"local\"},{\"type\":\"remote\",\"url\":\"http://h/\"},7]}",
	  "far=http[http://localhost:8080]env:V=22,T=s3cret near=stdio[x,22]env:V=22,T=s3cret,V=23 "
	  "half=refused ?(file).startup FIELD_UNUSED ?(file).ports FIELD_UNUSED "
	  "!half.command FIELD_MISSING !.name NAME_INVALID !.name NAME_INVALID" },
	{ "{\"mcp_servers\":{\"a\":{\"command\":\"x\"}}}", "a=stdio[x]" },
	{ "{\"mcp_servers\":\"a\"}", "!(file).mcp_servers FIELD_INVALID" },
};

/* --- the outcome as text -------------------------------------------------------------------------------- */

static void put_pairs(struct buf *b, const char *what, const struct mcpfile_pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_printf(b, "%s%s=%s", i ? "," : what, p->at[i].name, p->at[i].value);
}

static void put_entry(struct buf *b, const struct mcpfile_entry *e)
{
	buf_printf(b, "%s=", e->name);
	if (e->refused || e->disabled) {
		buf_puts(b, e->refused ? "refused" : "disabled");
		return;
	}
	buf_puts(b, e->transport == MCPFILE_STDIO ? "stdio[" : "http[");
	for (char **a = e->argv; a && *a; a++)
		buf_printf(b, "%s%s", a > e->argv ? "," : "", *a);
	buf_printf(b, "%s]", e->url ? e->url : "");
	if (e->cwd)
		buf_printf(b, "cwd:%s%s", e->cwd, e->env.n ? " " : "");
	put_pairs(b, "env:", &e->env);
	put_pairs(b, "headers:", &e->headers);
}

static void put_file(struct buf *b, const struct mcpfile *f)
{
	for (size_t i = 0; i < f->n; i++) {
		buf_puts(b, buf_len(b) ? " " : "");
		put_entry(b, &f->entries[i]);
	}
	for (size_t i = 0; i < f->nissues; i++) {
		const struct mcpfile_issue *is = &f->issues[i];

		buf_printf(b, "%s%c%s.%s %s", buf_len(b) ? " " : "", is->warning ? '?' : '!',
			   is->entry ? is->entry : "(file)", is->why.field, is->why.reason);
	}
}

static void test_rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		_cleanup_(mcpfile_done) struct mcpfile f = { 0 };
		_cleanup_(buf_done) struct buf got = { 0 };

		mcpfile_parse(&f, text, allowed);
		put_file(&got, &f);
		buf_putc(&got, '\0');
		if (strcmp(got.data, rows[i].want) == 0)
			continue;
		print_error("%s\n  want: %s\n  got:  %s\n", rows[i].text, rows[i].want, got.data);
		fail_row(i, "wrong");
	}
}

/* Without a value an issue can be shown to anybody. */
static void test_issues_hold_no_values(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcpfile_done) struct mcpfile f = { 0 };

		mcpfile_parse(&f, slice_of(rows[i].text), allowed);
		for (size_t k = 0; k < f.nissues; k++)
			if (strstr(f.issues[k].why.msg, "s3cret") || !f.issues[k].why.msg[0])
				fail_row(i, f.issues[k].why.msg);
	}
}

/* --- bounds --------------------------------------------------------------------------------------------- */

/* item: '#' stands for the number. */
static void parse_repeated(struct mcpfile *f, const char *head, const char *item, size_t n,
			   const char *tail)
{
	size_t at = strcspn(item, "#");
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, head);
	for (size_t i = 0; i < n; i++) {
		buf_puts(&b, i ? "," : "");
		buf_printf(&b, "%.*s%zu%s", (int)at, item, i, item + at + 1);
	}
	buf_puts(&b, tail);
	mcpfile_parse(f, buf_slice(&b), allowed);
}

static void test_bounds(void **state _unused_)
{
	static const struct {
		const char *head, *item, *tail;
		size_t most;
		const char *field;
	} lists[] = {
		{ "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[", "\"#\"", "]}}}",
		  HOSTED_ITEMS_MAX, "args" },
		{ "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{", "\"V#\":\"\"", "}}}}",
		  HOSTED_ITEMS_MAX, "env" },
		{ "{\"mcpServers\":{\"a\":{\"url\":\"http://h/\",\"headers\":{", "\"V#\":\"\"",
		  "}}}}", HOSTED_ITEMS_MAX, "headers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_(mcpfile_done) struct mcpfile ok = { 0 }, over = { 0 };

		parse_repeated(&ok, lists[i].head, lists[i].item, lists[i].most, lists[i].tail);
		assert_int_equal(ok.nissues, 0);
		parse_repeated(&over, lists[i].head, lists[i].item, lists[i].most + 1,
			       lists[i].tail);
		assert_true(over.entries[0].refused);
		assert_string_equal(mcpfile_error(&over, "a")->reason, "TOO_MANY");
		assert_string_equal(mcpfile_error(&over, "a")->field, lists[i].field);
	}
}

static void test_many_servers(void **state _unused_)
{
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };

	parse_repeated(&f, "{\"mcpServers\":{", "\"s#\":{\"command\":\"x\"}", 1000, "}}");
	assert_int_equal(f.n, HOSTED_SERVERS_MAX);
	assert_string_equal(mcpfile_error(&f, NULL)->reason, "TOO_MANY");
}

static void test_many_issues(void **state _unused_)
{
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };

	parse_repeated(&f, "{\"mcpServers\":{\"a\":{\"command\":\"x\",", "\"k#\":1", 500, "}}}");
	assert_false(f.entries[0].refused);
	assert_int_equal(f.nissues, HOSTED_ISSUES_MAX);
	assert_int_equal(f.more_issues, 500 - HOSTED_ISSUES_MAX);
}

static void test_long(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char name[HOSTED_NAME_MAX + 2];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int over = 1; over >= 0; over--) {
		_cleanup_(mcpfile_done) struct mcpfile f = { 0 };

		buf_reset(&b);
		buf_printf(&b, SERVERS("\"%s\":{\"command\":\"x\"}"), name + !over);
		mcpfile_parse(&f, buf_slice(&b), allowed);
		assert_int_equal(f.n, !over);
	}
	for (int over = 0; over <= 1; over++) {
		_cleanup_(mcpfile_done) struct mcpfile f = { 0 };

		buf_reset(&b);
		buf_puts(&b, "{\"mcpServers\":{\"a\":{\"command\":\"");
		for (size_t i = 0; i < HOSTED_STRING_MAX + (size_t)over; i++)
			buf_putc(&b, 'x');
		buf_puts(&b, "\"}}}");
		mcpfile_parse(&f, buf_slice(&b), allowed);
		assert_int_equal(f.entries[0].refused, over);
	}
}

/* A few variables cannot blow a short text up. */
static void test_expansion_is_bounded(void **state _unused_)
{
	static char big[40000] = "BIG=";
	char *const env[] = { big, NULL };
	_cleanup_(freep) char *out = NULL;
	struct err e = { 0 };

	memset(big + 4, 'x', sizeof(big) - 5);
	assert_int_equal(mcpfile_expand("${BIG}", env, "f", &out, &e), 0);
	assert_int_equal(strlen(out), sizeof(big) - 5);
	assert_int_equal(mcpfile_expand("${BIG}${BIG}", env, "f", &out, &e), -EINVAL);
	assert_string_equal(e.reason, "FIELD_TOO_LONG");
	assert_string_equal(e.field, "f");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static const char *read_reason(const char *name, bool foreign, size_t *entries)
{
	static struct err why;
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };
	struct mcpfile_source source = { .path = scratch_path(name), .foreign = foreign };
	const struct err *e;

	mcpfile_read(&f, &source, allowed);
	*entries = f.n;
	e = mcpfile_error(&f, NULL);
	if (!e)
		return NULL;
	why = *e;
	return why.reason;
}

static void test_read(void **state _unused_)
{
	static const char text[] = ONE("\"command\":\"x\"");
	_cleanup_(freep) char *large = xalloc(HOSTED_FILE_MAX + 2);
	size_t n;

	scratch_write("good", text, sizeof(text) - 1);
	assert_null(read_reason("good", true, &n));
	assert_int_equal(n, 1);
	/* a project without the file has no servers; an option that names it is wrong */
	assert_null(read_reason("missing", true, &n));
	assert_string_equal(read_reason("missing", false, &n), "FILE_UNREADABLE");
	/* a link in a workspace may lead anywhere; one of the operator's is theirs to make */
	assert_int_equal(symlink("good", scratch_path("link")), 0);
	assert_string_equal(read_reason("link", true, &n), "FILE_UNREADABLE");
	assert_null(read_reason("link", false, &n));
	assert_int_equal(n, 1);
	/* nobody waits for a writer */
	assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
	assert_string_equal(read_reason("fifo", true, &n), "FILE_NOT_REGULAR");
	assert_int_equal(mkdir(scratch_path("dir"), 0700), 0);
	assert_string_equal(read_reason("dir", true, &n), "FILE_NOT_REGULAR");
	memset(large, ' ', HOSTED_FILE_MAX + 1);
	scratch_write("large", large, HOSTED_FILE_MAX + 1);
	assert_string_equal(read_reason("large", true, &n), "FILE_TOO_LARGE");
}

/* The daemon is root and may read everything; the user whose session this is may not. */
static void test_read_as_user(void **state _unused_)
{
	static const char text[] = ONE("\"command\":\"x\"");
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };
	struct mcpfile_source source = {
		.foreign = true, .bounds = { .switch_user = true, .uid = 65534, .gid = 65534 }
	};

	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	scratch_write("private", text, sizeof(text) - 1);
	source.path = scratch_path("private");
	mcpfile_read(&f, &source, allowed);
	assert_int_equal(f.n, 0);
	assert_string_equal(mcpfile_error(&f, NULL)->reason, "FILE_UNREADABLE");
	assert_int_equal(access(source.path, R_OK), 0); /* and we are ourselves again */
	mcpfile_done(&f);
	source.bounds.switch_user = false;
	mcpfile_read(&f, &source, allowed);
	assert_int_equal(f.n, 1);
}

/* A file that only root's supplementary groups can read is not that user's either. */
static void test_read_without_groups_of_root(void **state _unused_)
{
	static const char text[] = ONE("\"command\":\"x\"");
	_cleanup_(mcpfile_done) struct mcpfile f = { 0 };
	struct mcpfile_source source = {
		.foreign = true, .bounds = { .switch_user = true, .uid = 65534, .gid = 65534 }
	};
	gid_t had[64], group = 61777;
	int n = getgroups(ARRAY_SIZE(had), had);

	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(chmod(scratch_dir(), 0755), 0);
	scratch_write("group", text, sizeof(text) - 1);
	source.path = scratch_path("group");
	assert_int_equal(chown(source.path, 0, group), 0);
	assert_int_equal(chmod(source.path, 0640), 0);
	assert_int_equal(setgroups(1, &group), 0);
	mcpfile_read(&f, &source, allowed);
	assert_int_equal(setgroups((size_t)n, had), 0);
	assert_int_equal(f.n, 0);
	assert_string_equal(mcpfile_error(&f, NULL)->reason, "FILE_UNREADABLE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_issues_hold_no_values),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_many_servers),
		cmocka_unit_test(test_many_issues),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_expansion_is_bounded),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_as_user),
		cmocka_unit_test(test_read_without_groups_of_root),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
