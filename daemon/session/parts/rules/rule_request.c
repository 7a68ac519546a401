/*
 * rule_request.c - converts a harness's permission request into commands, paths and a category that
 * rules can judge.
 *
 * All input is untrusted: the model chose it. Only structured members are read, by the names that
 * agents use (path_members, path_lists). An unreadable member, a code member, or a request without
 * command and path sets `unread`, so that rule_judge.c asks a user. An item above RULE_TEXT_MAX or
 * RULE_ITEMS_MAX is unread, never absent.
 */
#include "session/parts/rules/rule_request.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/jstr.h"

/* ACP's kinds. of no row: nothing is known of it. */
static const struct {
	const char *kind;
	enum policy_category category;
	bool reads, writes, below;
} kinds[] = {
	{ "read", CATEGORY_READ, true, false, false },
	{ "search", CATEGORY_READ, true, false, true },
	{ "edit", CATEGORY_EDIT, false, true, false },
	{ "delete", CATEGORY_EDIT, false, true, false },
	{ "move", CATEGORY_EDIT, false, true, false },
	{ "execute", CATEGORY_EXECUTE, true, false, false },
	{ "think", CATEGORY_OTHER, true, true, false },
	{ "fetch", CATEGORY_OTHER, true, true, false },
	{ "switch_mode", CATEGORY_OTHER, true, true, false },
	{ "other", CATEGORY_OTHER, true, true, false },
};

/* --- texts -------------------------------------------------------------------------------------------------- */

static char *request_text(struct jval v)
{
	char *text = NULL;

	return jstr_decode(v, RULE_TEXT_MAX, &text) == 0 ? text : NULL;
}

/* False: it is no text that could be judged. */
static bool add_text(char ***list, size_t *n, struct jval v)
{
	char *text = *n < RULE_ITEMS_MAX ? request_text(v) : NULL;

	if (!text)
		return false;
	*GROW(*list, *n) = text;
	return true;
}

static void free_texts(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static bool is_absent(struct jval v)
{
	return v.type == J_NONE || v.type == J_NULL;
}

/* --- paths --------------------------------------------------------------------------------------------------- */

/* Each once. False: there is none. */
static bool request_add_path(struct rule_request *r, struct jval v)
{
	size_t had = r->npaths;

	if (is_absent(v))
		return false;
	if (!add_text(&r->paths, &r->npaths, v)) {
		r->unread = true;
		return false;
	}
	for (size_t i = 0; i < had; i++) {
		if (strcmp(r->paths[i], r->paths[had]) != 0)
			continue;
		free(r->paths[--r->npaths]);
		break;
	}
	return true;
}

/* Members of an input that name a file or a directory, as the tools of agents call them. */
static const char *const path_members[] = {
	"path",		 "file_path", "filePath",    "filepath",    "file",	 "absolute_path",
	"notebook_path", "old_path",  "new_path",    "oldPath",	    "newPath",	 "movePath",
	"move_path",	 "source",    "destination", "target_file", "directory", "dir_path",
};
static const char *const path_lists[] = { "paths", "files", "changes" };

static bool request_add_members(struct rule_request *r, struct slice object)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(path_members); i++)
		found = request_add_path(r, jobj_get(object, path_members[i])) || found;
	return found;
}

/* Each a path, or an object that names one. */
static void request_add_list(struct rule_request *r, struct jval list)
{
	if (is_absent(list))
		return;
	if (list.type != J_ARRAY) {
		r->unread = true;
		return;
	}
	jarr_each(v, list) {
		if (v.type != J_OBJECT) {
			request_add_path(r, v);
			continue;
		}
		if (!request_add_members(r, v.raw))
			r->unread = true;
		request_add_path(r, jobj_get(jobj_get(v.raw, "kind").raw, "move_path"));
	}
}

static void add_each(struct rule_request *r, struct jval list, const char *type)
{
	jarr_each(v, list)
		if (v.type == J_OBJECT && (!type || jstr_is(jobj_get(v.raw, "type"), type)))
			request_add_path(r, jobj_get(v.raw, "path"));
}

static void read_paths(struct rule_request *r, struct slice call, struct slice input)
{
	add_each(r, jobj_get(call, "locations"), NULL);
	add_each(r, jobj_get(call, "content"), "diff");
	if (!input.n || r->category == CATEGORY_EXECUTE)
		return;
	request_add_members(r, input);
	for (size_t i = 0; i < ARRAY_SIZE(path_lists); i++)
		request_add_list(r, jobj_get(input, path_lists[i]));
}

/* --- commands ------------------------------------------------------------------------------------------------- */

static void read_words(struct rule_request *r, struct jval list)
{
	size_t n = 0;

	jarr_each(v, list)
		if (!add_text(&r->argv, &n, v))
			r->unread = true;
	*GROW(r->argv, n) = NULL;
	/* An empty list: the terminator alone. */
	if (n < 2)
		r->unread = true;
}

static void read_commands(struct rule_request *r, struct slice input)
{
	static const char *const code[] = { "code", "script" };
	struct jval one = jobj_get(input, "command"), many = jobj_get(input, "commands");

	if (one.type == J_ARRAY)
		read_words(r, one);
	else if (!is_absent(one) && !add_text(&r->commands, &r->ncommands, one))
		r->unread = true;
	jarr_each(v, many)
		if (!add_text(&r->commands, &r->ncommands, v))
			r->unread = true;
	/* No rule can judge code. */
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		if (!is_absent(jobj_get(input, code[i])))
			r->unread = true;
	if (!r->ncommands && !r->argv)
		r->unread = true;
}

static bool has_command(struct slice input)
{
	struct jval v = jobj_get(input, "command");

	return v.type == J_STRING || v.type == J_ARRAY;
}

/* --- all --------------------------------------------------------------------------------------------------------- */

/* "server/tool", of a server that the harness was given. */
static void read_server(struct rule_request *r, struct slice servers)
{
	const char *slash = r->name ? strchr(r->name, '/') : NULL;

	if (!slash)
		return;
	jarr_each(v, servers) {
		_cleanup_(freep) char *name =
			v.type == J_OBJECT ? request_text(jobj_get(v.raw, "name")) : NULL;
		size_t n = name ? strlen(name) : 0;

		if (!n || strncmp(r->name, name, n) != 0 || r->name[n] != '/')
			continue;
		r->tool = xstrdup(r->name + n + 1);
		r->server = TAKE_PTR(name);
		return;
	}
}

static bool read_kind(struct rule_request *r)
{
	for (size_t i = 0; r->kind && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(r->kind, kinds[i].kind) != 0)
			continue;
		r->category = kinds[i].category;
		r->reads = kinds[i].reads;
		r->writes = kinds[i].writes;
		r->below = kinds[i].below;
		return true;
	}
	r->category = CATEGORY_OTHER;
	r->reads = r->writes = true;
	return false;
}

static struct slice request_input_object(struct jval v)
{
	return v.type == J_OBJECT ? v.raw : SLICE_NONE;
}

/* A request that shows neither file nor command is about those that were shown before. */
static void read_before(struct rule_request *r, const struct rule_call *before)
{
	struct jval input = { J_NONE, SLICE_NONE };

	if (before->locations)
		add_each(r, (struct jval){ J_ARRAY, slice_of(before->locations) }, NULL);
	if (before->input && jscan_value(slice_of(before->input), &input) == JSCAN_OK)
		request_add_members(r, request_input_object(input));
}

static void read_call(struct rule_request *r, struct slice call, struct slice input,
		      const struct rule_call *before)
{
	bool known = read_kind(r);

	/* a command that only reads is a command; an editor's "command" is its own word */
	if (r->category != CATEGORY_EDIT && has_command(input)) {
		r->category = CATEGORY_EXECUTE;
		r->reads = true;
		r->writes = r->below = false;
	} else if (!known) {
		r->unread = true;
	}
	read_paths(r, call, input);
	if (!r->npaths && r->category != CATEGORY_EXECUTE)
		read_before(r, before);
	if (r->category == CATEGORY_EXECUTE)
		read_commands(r, input);
	else if (r->category != CATEGORY_OTHER && !r->npaths)
		r->unread = true;
}

void rule_request_read(struct slice params, const struct rule_call *before, struct slice servers,
		       struct rule_request *ret)
{
	struct slice call = jobj_get(params, "toolCall").raw;
	struct jval input = jobj_get(call, "rawInput");

	*ret = (struct rule_request){ .name = request_text(jobj_get(call, "name")),
				      .kind = request_text(jobj_get(call, "kind")) };
	if (!ret->name)
		ret->name = xstrdup(before->name);
	if (!ret->kind)
		ret->kind = xstrdup(before->kind);
	/* Of a server's tool the name alone is judged: only the server knows what its input means. */
	read_server(ret, servers);
	if (ret->server)
		ret->category = CATEGORY_MCP;
	else
		read_call(ret, call, request_input_object(input), before);
	if (!ret->server && !ret->ncommands && !ret->argv && !ret->npaths && !is_absent(input))
		ret->input = xstrndup(input.raw.p, input.raw.n);
}

void rule_request_done(struct rule_request *r)
{
	free_each(r->name, r->kind, r->server, r->tool);
	free_texts(r->commands, r->ncommands);
	for (char **word = r->argv; word && *word; word++)
		free(*word);
	free(r->argv);
	free_texts(r->paths, r->npaths);
	free(r->input);
	*r = (struct rule_request){ 0 };
}

/* For humans, so cut: a digest of the whole recognizes the request. */
static void put_texts(struct jw *w, const char *key, char *const *list, size_t n)
{
	if (!n)
		return;
	jw_arr(w, key);
	for (size_t i = 0; i < n; i++)
		jw_slice(w, NULL, (struct slice){ list[i], strnlen(list[i], RULE_SHOWN_MAX) });
	jw_end_arr(w);
}

void rule_request_put(const struct rule_request *r, struct jw *w)
{
	size_t words = 0;

	while (r->argv && r->argv[words])
		words++;
	jw_str(w, "tool", r->server ? r->tool : r->name);
	jw_str(w, "server", r->server);
	jw_str(w, "kind", r->kind);
	put_texts(w, "commands", r->commands, MIN(r->ncommands, (size_t)RULE_SHOWN_ITEMS));
	put_texts(w, "argv", r->argv, MIN(words, (size_t)RULE_SHOWN_ITEMS));
	if (r->category != CATEGORY_EXECUTE)
		put_texts(w, "paths", r->paths, MIN(r->npaths, (size_t)RULE_SHOWN_ITEMS));
}
