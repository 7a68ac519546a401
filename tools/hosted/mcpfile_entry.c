/* mcpfile_entry.c - one entry of a configuration file. */
#include "tools/hosted/mcpfile.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/strv.h"
#include "json/json.h"

#include <ctype.h>
#include <strings.h>

struct raw_entry {
	char *name, *command, *cwd, *type, *url;
	struct slice args, env, headers;
	bool disabled;
};

static const struct jfield fields[] = {
	JF_STR(struct raw_entry, name, "name", 0, HOSTED_STRING_MAX),
	JF_STR(struct raw_entry, command, "command", 0, HOSTED_STRING_MAX),
	JF_ARR(struct raw_entry, args, "args", 0),
	JF_OBJ(struct raw_entry, env, "env", 0),
	JF_STR(struct raw_entry, cwd, "cwd", 0, HOSTED_STRING_MAX),
	JF_STR(struct raw_entry, type, "type", 0, 64),
	JF_STR(struct raw_entry, url, "url", 0, HOSTED_STRING_MAX),
	JF_OBJ(struct raw_entry, headers, "headers", 0),
	JF_BOOL(struct raw_entry, disabled, "disabled", 0),
	JF_END,
};

/* Members of other programs' entries that do not change how the server is reached. */
static const char *const descriptive[] = { "description", "title", "icons", NULL };

static void raw_done(struct raw_entry *raw)
{
	jdec_free(fields, raw);
}

/* --- members that are not ours -------------------------------------------------------------------------- */

static bool mcpfile_entry_is_known(struct slice key)
{
	for (const struct jfield *f = fields; f->name; f++)
		if (jkey_is(key, f->name))
			return true;
	for (const char *const *word = descriptive; *word; word++)
		if (jkey_is(key, *word))
			return true;
	return false;
}

static void warn_unknown(struct mcpfile *f, const char *entry, struct slice object)
{
	jobj_each(key, v, object) {
		_cleanup_(freep) char *name = xstrndup(key.p, MIN(key.n, 64u));
		struct err e = { 0 };

		if (mcpfile_entry_is_known(key))
			continue;
		err_flatten(name);
		err_field(&e, name, "KEY_UNKNOWN", "this key says nothing here");
		mcpfile_issue_add(f, true, entry, &e);
	}
}

static void warn_unused(struct mcpfile *f, const struct mcpfile_entry *out,
			const struct raw_entry *raw)
{
	const struct {
		bool given;
		enum mcpfile_transport of;
		const char *name;
	} rows[] = {
		{ raw->command != NULL, MCPFILE_STDIO, "command" },
		{ raw->args.n > 0, MCPFILE_STDIO, "args" },
		{ raw->env.n > 0, MCPFILE_STDIO, "env" },
		{ raw->cwd != NULL, MCPFILE_STDIO, "cwd" },
		{ raw->url != NULL, MCPFILE_HTTP, "url" },
		{ raw->headers.n > 0, MCPFILE_HTTP, "headers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err e = { 0 };

		if (!rows[i].given || rows[i].of == out->transport)
			continue;
		err_field(&e, rows[i].name, "FIELD_UNUSED", "a server of this type has no %s",
			  rows[i].name);
		mcpfile_issue_add(f, true, out->name, &e);
	}
}

/* --- the type ------------------------------------------------------------------------------------------- */

static int named_transport(const char *type, enum mcpfile_transport *ret, struct err *e)
{
	static const struct {
		const char *word;
		enum mcpfile_transport transport;
	} words[] = {
		{ "stdio", MCPFILE_STDIO },
		{ "local", MCPFILE_STDIO },
		{ "http", MCPFILE_HTTP },
		{ "remote", MCPFILE_HTTP },
		{ "streamable-http", MCPFILE_HTTP },
		{ "streamableHttp", MCPFILE_HTTP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(type, words[i].word) != 0)
			continue;
		*ret = words[i].transport;
		return 0;
	}
	return err_field(e, "type",
			 strcmp(type, "sse") == 0 ? "TRANSPORT_UNSUPPORTED" : "FIELD_INVALID",
			 "type must be stdio or http");
}

static int find_transport(const struct raw_entry *raw, enum mcpfile_transport *ret, struct err *e)
{
	const char *field;

	if (!raw->type && raw->command && raw->url)
		return err_field(e, "type", "ENTRY_AMBIGUOUS",
				 "there is both a command and a url: type must say which holds");
	if (raw->type) {
		if (named_transport(raw->type, ret, e) < 0)
			return -EINVAL;
	} else {
		*ret = raw->url ? MCPFILE_HTTP : MCPFILE_STDIO;
	}
	field = *ret == MCPFILE_HTTP ? "url" : "command";
	if (*ret == MCPFILE_HTTP ? !raw->url : !raw->command)
		return err_field(e, field, "FIELD_MISSING", "%s is required", field);
	return 0;
}

/* --- ${VAR} and ${VAR:-default} -------------------------------------------------------------------------- */

static bool is_variable(const char *name)
{
	for (const char *p = name; *p; p++)
		if (*p != '_' && !isalpha((unsigned char)*p) &&
		    !(p > name && isdigit((unsigned char)*p)))
			return false;
	return *name;
}

/* inside: what stands between the braces. */
static int mcpfile_expand_put_value(struct buf *out, struct slice inside, char *const *env,
				    const char *field, struct err *e)
{
	const char *sep = memmem(inside.p, inside.n, ":-", 2), *value;
	size_t n = sep ? (size_t)(sep - inside.p) : inside.n;
	_cleanup_(freep) char *name = xstrndup(inside.p, n);

	if (!is_variable(name))
		return err_field(e, field, "EXPANSION_INVALID",
				 "%s: ${} takes the name of a variable, and :-default behind it",
				 field);
	value = strv_env(env, name);
	if (value)
		buf_puts(out, value);
	else if (sep)
		buf_add(out, sep + 2, inside.n - n - 2);
	else
		return err_field(e, field, "ENV_UNSET",
				 "%s: ${%.64s} is not in the environment allowed here", field,
				 name);
	return 0;
}

int mcpfile_expand(const char *text, char *const *env, const char *field, char **ret, struct err *e)
{
	_cleanup_(buf_done) struct buf out = { .max = HOSTED_STRING_MAX };
	const char *from, *end;
	int r;

	while ((from = strstr(text, "${"))) {
		end = strchr(from, '}');
		if (!end)
			return err_field(e, field, "EXPANSION_INVALID", "%s: ${ without }", field);
		buf_add(&out, text, (size_t)(from - text));
		r = mcpfile_expand_put_value(
			&out, (struct slice){ from + 2, (size_t)(end - from - 2) }, env, field, e);
		if (r < 0)
			return r;
		/* The value itself is not expanded again. */
		text = end + 1;
	}
	buf_puts(&out, text);
	if (out.failed)
		return err_field(e, field, "FIELD_TOO_LONG", "%s is longer than %lu bytes", field,
				 HOSTED_STRING_MAX);
	*ret = xstrndup(out.data, out.len);
	return 0;
}

/* --- strings -------------------------------------------------------------------------------------------- */

static int decode_text(struct jval v, const char *field, char *const *env, char **ret,
		       struct err *e)
{
	_cleanup_(freep) char *text = NULL;
	int r = jstr_decode(v, HOSTED_STRING_MAX, &text);

	if (r == -ENAMETOOLONG)
		return err_field(e, field, "FIELD_TOO_LONG", "%s is longer than %lu bytes", field,
				 HOSTED_STRING_MAX);
	if (r < 0)
		return err_field(e, field, "FIELD_INVALID", "%s must be a string", field);
	return mcpfile_expand(text, env, field, ret, e);
}

static bool mcpfile_entry_has_name(const struct mcpfile_pairs *p, size_t from, const char *name)
{
	for (size_t i = from; i < p->n; i++)
		if (strcmp(p->at[i].name, name) == 0)
			return true;
	return false;
}

static int decode_pair(struct mcpfile_pairs *p, size_t from, struct slice key, struct jval v,
		       const char *field, bool (*check)(const char *name), char *const *env,
		       struct err *e)
{
	_cleanup_(freep) char *name = NULL, *value = NULL;
	char *path = SHORT_TEXT(96, "%s.%.*s", field, (int)MIN(key.n, 64u), key.p);

	err_flatten(path);
	if (jstr_decode(jkey_string(key), 256, &name) < 0 || !check(name))
		return err_field(e, path, "NAME_INVALID", "%s: not a name that may stand here",
				 path);
	if (mcpfile_entry_has_name(p, from, name))
		return err_field(e, path, "FIELD_DUPLICATE", "%s stands twice", path);
	if (decode_text(v, path, env, &value, e) < 0)
		return -EINVAL;
	p->at[p->n++] = (struct mcpfile_pair){ TAKE_PTR(name), TAKE_PTR(value) };
	return 0;
}

int mcpfile_pairs_decode(struct mcpfile_pairs *p, struct slice object, const char *field,
			 bool (*check)(const char *name), char *const *env, struct err *e)
{
	/* The file's common variables come first, and an entry may replace them: only its own names
	 * must differ. */
	size_t from = p->n, n = 0;

	if (!object.n)
		return 0;
	jobj_each(key, v, object)
		n++;
	if (n > HOSTED_ITEMS_MAX)
		return err_field(e, field, "TOO_MANY", "%s has more than %d members", field,
				 HOSTED_ITEMS_MAX);
	p->at = reallocarray(p->at, p->n + n + 1, sizeof(*p->at));
	if (!p->at)
		abort();
	jobj_each(key, v, object)
		if (decode_pair(p, from, key, v, field, check, env, e) < 0)
			return -EINVAL;
	return 0;
}

bool mcpfile_env_name_ok(const char *name)
{
	/* ACPD_ is the prefix of the daemon's own variables, among them the marks of its processes. */
	return is_variable(name) && strncmp(name, "ACPD_", 5) != 0;
}

/* The transport sets those that frame a request. */
static bool mcpfile_entry_header_ok(const char *name)
{
	static const char *const ours[] = { "host",	      "connection", "content-length",
					    "content-type",   "accept",	    "transfer-encoding",
					    "mcp-session-id", "upgrade" };

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (strcasecmp(name, ours[i]) == 0)
			return false;
	return header_name_ok(slice_of(name));
}

/* The text goes into the head of a request, so it may not contain a line break. */
static int check_line(const char *text, const char *field, struct err *e)
{
	return header_value_ok(text) ? 0 :
				       err_field(e, field, "FIELD_INVALID",
						 "%s must be without control characters", field);
}

/* --- the two kinds -------------------------------------------------------------------------------------- */

static int decode_args(struct mcpfile_entry *out, struct jval args, char *const *env, struct err *e)
{
	size_t i = 0;

	jarr_each(v, args) {
		const char *path = SHORT_TEXT(32, "args[%zu]", i++);

		if (decode_text(v, path, env, &out->argv[i], e) < 0)
			return -EINVAL;
	}
	return 0;
}

static int decode_stdio(struct mcpfile_entry *out, const struct raw_entry *raw, char *const *env,
			struct err *e)
{
	struct jval args = { raw->args.n ? J_ARRAY : J_NONE, raw->args };
	size_t n = jarr_length(args);

	if (n > HOSTED_ITEMS_MAX)
		return err_field(e, "args", "TOO_MANY", "args has more than %d items",
				 HOSTED_ITEMS_MAX);
	out->argv = xalloc((n + 2) * sizeof(*out->argv));
	if (mcpfile_expand(raw->command, env, "command", &out->argv[0], e) < 0)
		return -EINVAL;
	if (!*out->argv[0])
		return err_field(e, "command", "FIELD_INVALID", "command is empty");
	if (decode_args(out, args, env, e) < 0)
		return -EINVAL;
	if (raw->cwd && mcpfile_expand(raw->cwd, env, "cwd", &out->cwd, e) < 0)
		return -EINVAL;
	return mcpfile_pairs_decode(&out->env, raw->env, "env", mcpfile_env_name_ok, env, e);
}

static int decode_http(struct mcpfile_entry *out, const struct raw_entry *raw, char *const *env,
		       struct err *e)
{
	char path[96];

	/* Checked after the expansion, because the value of a variable may have control characters. */
	if (mcpfile_expand(raw->url, env, "url", &out->url, e) < 0 ||
	    check_line(out->url, "url", e) < 0)
		return -EINVAL;
	if (strncasecmp(out->url, "http://", 7) != 0 && strncasecmp(out->url, "https://", 8) != 0)
		return err_field(e, "url", "FIELD_INVALID",
				 "url must begin with http:// or https://");
	if (mcpfile_pairs_decode(&out->headers, raw->headers, "headers", mcpfile_entry_header_ok,
				 env, e) < 0)
		return -EINVAL;
	for (size_t i = 0; i < out->headers.n; i++) {
		snprintf(path, sizeof(path), "headers.%s", out->headers.at[i].name);
		if (check_line(out->headers.at[i].value, path, e) < 0)
			return -EINVAL;
	}
	return 0;
}

int mcpfile_entry_decode(struct mcpfile *f, struct mcpfile_entry *out, struct slice object,
			 char *const *env, struct err *e)
{
	_cleanup_(raw_done) struct raw_entry raw = { 0 };

	if (jdec_object(object, fields, "", &raw, e) < 0) {
		if (!e->field[0]) /* the file has been scanned, so nothing else can be wrong */
			err_field(e, "", "FIELD_DUPLICATE", "a key stands twice");
		return -EINVAL;
	}
	warn_unknown(f, out->name, object);
	out->disabled = raw.disabled;
	if (raw.disabled) {
		out->transport = raw.url && !raw.command ? MCPFILE_HTTP : MCPFILE_STDIO;
		return 0;
	}
	if (find_transport(&raw, &out->transport, e) < 0)
		return -EINVAL;
	warn_unused(f, out, &raw);
	return out->transport == MCPFILE_STDIO ? decode_stdio(out, &raw, env, e) :
						 decode_http(out, &raw, env, e);
}
