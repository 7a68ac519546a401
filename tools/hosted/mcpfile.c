/*
 * mcpfile.c - reads an MCP configuration file in either form, and collects issues instead of
 * failing.
 *
 * An invalid entry must not disable the others, so only an error of the file itself leaves none.
 * open_as becomes the user who wrote the file (proc/users/agent_user.h), so the kernel checks every
 * directory of the path as that user. O_NONBLOCK and the check for a regular file keep a FIFO from
 * blocking the daemon.
 */
#include "tools/hosted/mcpfile.h"

#include "base/util.h"
#include "base/os/file.h"
#include "proc/users/agent_user.h"
#include "base/limits.h"
#include "base/strv.h"
#include "json/json.h"
#include "tools/mcp/msg.h"

#include <ctype.h>

/* --- issues --------------------------------------------------------------------------------------------- */

void mcpfile_issue_add(struct mcpfile *f, bool warning, const char *entry, const struct err *why)
{
	/* A file of another user must not fill the memory of the daemon. */
	if (f->nissues == HOSTED_ISSUES_MAX) {
		f->more_issues++;
		return;
	}
	*GROW(f->issues, f->nissues) =
		(struct mcpfile_issue){ .warning = warning, .entry = xstrdup(entry), .why = *why };
}

const struct err *mcpfile_error(const struct mcpfile *f, const char *entry)
{
	for (size_t i = 0; i < f->nissues; i++) {
		const struct mcpfile_issue *is = &f->issues[i];

		if (!is->warning &&
		    (entry ? is->entry && strcmp(is->entry, entry) == 0 : !is->entry))
			return &is->why;
	}
	return NULL;
}

/* An error of the file itself, with no name of an entry. */
static void file_error(struct mcpfile *f, const char *field, const char *reason, const char *text)
{
	struct err e = { 0 };

	err_field(&e, field, reason, "%s", text);
	mcpfile_issue_add(f, false, NULL, &e);
}

/* --- entries -------------------------------------------------------------------------------------------- */

static int mcpfile_check_name(const struct mcpfile *f, const char *name, struct err *e)
{
	size_t n = strlen(name);

	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			n = 0;
	if (n == 0 || n > HOSTED_NAME_MAX)
		return err_field(e, "name", "NAME_INVALID",
				 "a name has 1 to %d letters, digits, '_' and '-'",
				 HOSTED_NAME_MAX);
	if (strcmp(name, MCP_OWN_NAME) == 0)
		return err_field(e, "name", "NAME_RESERVED",
				 "the name '%s' is that of the built-in tools", MCP_OWN_NAME);
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->entries[i].name, name) == 0)
			return err_field(e, "name", "NAME_DUPLICATE",
					 "an entry before has this name");
	return 0;
}

/* What the file says for all of its servers comes before what an entry says. */
static void copy_pairs(struct mcpfile_pairs *to, const struct mcpfile_pairs *from)
{
	to->at = xalloc(from->n * sizeof(*to->at));
	for (; to->n < from->n; to->n++)
		to->at[to->n] = (struct mcpfile_pair){ xstrdup(from->at[to->n].name),
						       xstrdup(from->at[to->n].value) };
}

/* An entry with an unusable name is only an issue: it has no name in reports. */
static void mcpfile_add_entry(struct mcpfile *f, const char *name, struct jval v,
			      const struct mcpfile_pairs *common, char *const *env)
{
	struct mcpfile_entry *out;
	struct err e = { 0 };
	int r = mcpfile_check_name(f, name, &e);

	if (r < 0) {
		mcpfile_issue_add(f, false, name, &e);
		return;
	}
	out = GROW(f->entries, f->n);
	out->name = xstrdup(name);
	copy_pairs(&out->env, common);
	if (v.type != J_OBJECT)
		r = err_field(&e, "", "FIELD_INVALID", "an entry must be an object");
	else
		r = mcpfile_entry_decode(f, out, v.raw, env, &e);
	out->refused = r < 0;
	if (r < 0)
		mcpfile_issue_add(f, false, name, &e);
}

static char *mcpfile_name_of(struct slice key, struct jval v)
{
	/* in an object the name is its key; in an array a member */
	struct jval text = key.p	      ? jkey_string(key) :
			   v.type == J_OBJECT ? jobj_get(v.raw, "name") :
						(struct jval){ 0 };
	char *name = NULL;

	if (jstr_decode(text, 4 * HOSTED_NAME_MAX, &name) < 0)
		return xstrdup("");
	err_flatten(name);
	return name;
}

static void add_entries(struct mcpfile *f, struct jval servers, const struct mcpfile_pairs *common,
			char *const *env)
{
	struct slice key = SLICE_NONE;
	struct jiter it;
	struct jval v;

	jiter_init(&it, servers);
	while (jiter_next(&it, servers.type == J_OBJECT ? &key : NULL, &v)) {
		_cleanup_(freep) char *name = mcpfile_name_of(key, v);

		if (f->n == HOSTED_SERVERS_MAX) {
			file_error(f, "", "TOO_MANY", "too many servers: the rest is left out");
			break;
		}
		mcpfile_add_entry(f, name, v, common, env);
	}
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* Warns about other members beside the servers, in either form. */
static void warn_beside(struct mcpfile *f, struct slice text)
{
	static const char *const known[] = { "mcpServers", "mcp_servers", "env",
					     "name",	   "description", "$schema",
					     "version",	   "metadata",	  NULL };
	static const char *const builders[] = { "startup", "ports", NULL };

	jobj_each(key, v, text) {
		_cleanup_(freep) char *name = xstrndup(key.p, MIN(key.n, 64u));
		struct err e = { 0 };

		if (mcp_key_is_one_of(key, known))
			continue;
		err_flatten(name);
		if (mcp_key_is_one_of(key, builders))
			err_field(&e, name, "FIELD_UNUSED", "this is for the builder of the image");
		else
			err_field(&e, name, "KEY_UNKNOWN", "this key says nothing here");
		mcpfile_issue_add(f, true, NULL, &e);
	}
}

static void pairs_done(struct mcpfile_pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		free_each(p->at[i].name, p->at[i].value);
	free(p->at);
}

static void strv_freep(char ***v)
{
	strv_free(*v);
}

static void parse_servers(struct mcpfile *f, struct jval servers, struct slice common_env,
			  char *const *env)
{
	_cleanup_(pairs_done) struct mcpfile_pairs common = { 0 };
	_cleanup_(strv_freep) char **all = NULL;
	struct err e = { 0 };

	if (mcpfile_pairs_decode(&common, common_env, "env", mcpfile_env_name_ok, env, &e) < 0) {
		mcpfile_issue_add(f, false, NULL, &e);
		return;
	}
	/* Before those that the caller allows: the first one of a name counts. */
	for (size_t i = 0; i < common.n; i++)
		strv_add(&all, xprintf("%s=%s", common.at[i].name, common.at[i].value));
	for (char *const *v = env; v && *v; v++)
		strv_add(&all, xstrdup(*v));
	add_entries(f, servers, &common, all);
}

void mcpfile_parse(struct mcpfile *f, struct slice text, char *const *env)
{
	struct jslot slots[] = { { .key = "mcpServers" },
				 { .key = "mcp_servers" },
				 { .key = "env" } };
	struct jval *map = &slots[0].v, *list = &slots[1].v, *common = &slots[2].v;
	enum jscan_error r = jscan_object(text, slots, ARRAY_SIZE(slots));
	char why[JSCAN_TEXT_SIZE];

	if (r != JSCAN_OK) {
		file_error(f, "", "JSON_INVALID", jscan_explain(text, r, why));
		return;
	}
	warn_beside(f, text);
	if (map->type != J_NONE && list->type != J_NONE)
		file_error(f, "mcp_servers", "FILE_AMBIGUOUS",
			   "there is both mcpServers and mcp_servers");
	else if (map->type == J_NONE && list->type == J_NONE)
		file_error(f, "mcpServers", "FIELD_MISSING", "mcpServers is required");
	else if (map->type != J_NONE && map->type != J_OBJECT)
		file_error(f, "mcpServers", "FIELD_INVALID", "mcpServers must be an object");
	else if (list->type != J_NONE && list->type != J_ARRAY && list->type != J_OBJECT)
		file_error(f, "mcp_servers", "FIELD_INVALID",
			   "mcp_servers must be an array or an object");
	else if (common->type != J_NONE && common->type != J_OBJECT)
		file_error(f, "env", "FIELD_INVALID", "env must be an object");
	else
		parse_servers(f, map->type == J_NONE ? *list : *map, common->raw, env);
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Opens with the rights of the user that the file belongs to: a link above it leads nowhere that user could not go. */
static int open_as(const struct mcpfile_source *s)
{
	const struct proc_bounds *b = &s->bounds;
	int fd = -EPERM;

	if (!b->switch_user || fs_user_enter(b->uid, b->gid)) {
		fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
					   (s->foreign ? O_NOFOLLOW : 0));
		fd = fd < 0 ? -errno : fd;
	}
	if (b->switch_user)
		fs_user_leave();
	return fd;
}

void mcpfile_read(struct mcpfile *f, const struct mcpfile_source *source, char *const *env)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(closep) int fd = open_as(source);
	struct stat sb;
	int r = fd < 0 ? fd : fstat(fd, &sb) < 0 ? -errno : 0;

	/* A project may have no such file. The operator's file was named, so it must exist. */
	if (r == -ENOENT && source->foreign)
		return;
	/* Checked on the descriptor: the name may have been replaced since. */
	if (r == 0 && !S_ISREG(sb.st_mode)) {
		file_error(f, "", "FILE_NOT_REGULAR", "not a regular file");
		return;
	}
	if (r == 0)
		r = file_read_fd(fd, HOSTED_FILE_MAX, &text);
	if (r == -E2BIG)
		file_error(f, "", "FILE_TOO_LARGE", "the file is too large");
	else if (r < 0)
		file_error(f, "", "FILE_UNREADABLE", strerror(-r));
	else
		mcpfile_parse(f, buf_slice(&text), env);
}

static void entry_done(struct mcpfile_entry *e)
{
	free(e->name);
	strv_free(e->argv);
	free_each(e->cwd, e->url);
	pairs_done(&e->env);
	pairs_done(&e->headers);
}

void mcpfile_done(struct mcpfile *f)
{
	for (size_t i = 0; i < f->n; i++)
		entry_done(&f->entries[i]);
	for (size_t i = 0; i < f->nissues; i++)
		free(f->issues[i].entry);
	free_each(f->entries, f->issues);
	*f = (struct mcpfile){ 0 };
}
