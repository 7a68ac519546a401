/*
 * request.c - decodes and checks a request for workspace, skills, instructions and files.
 *
 * All of it is checked before anything is written; the raw arrays that are stored (files, removed
 * skills) are safe to pass to acpd-unpack afterwards. An unknown member is an error. Names of
 * built-in skills contain no dot or slash, because they become path components. Paths inside the
 * workspace are not judged here: acpd-unpack decides, on the real tree.
 */
#include "workspace/request.h"

#include "archive/archive_store.h"
#include "base/util.h"
#include "base/limits.h"
#include "digest/base64.h"
#include "json/json.h"

#define REQUEST_SKILLS_MAX 128
#define REQUEST_FILES_MAX 1024
#define REQUEST_TEXT_MAX (1 * MIB) /* of instructions */
#define NO_PARAMETER "this daemon has no such parameter"

#define FIELD_SIZE 96

/* An object of ours at path, which ends in a dot. Then args holds what has to be freed. */
static int request_object(struct jval v, const struct jfield *fields, const char *path, void *args,
			  struct err *e)
{
	const char *field = SHORT_TEXT(FIELD_SIZE, "%.*s", (int)strlen(path) - 1, path);

	if (v.type != J_OBJECT)
		return err_field(e, field, "FIELD_INVALID", "%s must be an object", field);
	return jdec_strict(v.raw, fields, path, NO_PARAMETER, args, e);
}

/* Calls one for each element of a list, which may be absent, of at most max. */
static int request_list(struct slice list, size_t max, const char *prefix, const char *field,
			const char *too_many, struct request *r, struct err *e,
			int (*one)(struct jval v, size_t i, const char *prefix, struct request *r,
				   struct err *e))
{
	jarr_each_at(i, v, list) {
		int ret = i == max ? jdec_refuse(e, prefix, field, "TOO_MANY", too_many) :
				     one(v, i, prefix, r, e);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* --- the workspace --------------------------------------------------------------------------------------- */

struct workspace_args {
	char *archive, *mode, *into, *links;
	struct jval strip;
	bool ephemeral, remove_on_close, chown;
	struct jval baseline;
};

static const struct jfield workspace_fields[] = {
	JF_STR(struct workspace_args, archive, "archive", 0, 128),
	JF_STR(struct workspace_args, mode, "mode", 0, 16),
	JF_STR(struct workspace_args, into, "into", JF_FILLED, PATH_BYTES_MAX),
	JF_RAW(struct workspace_args, strip, "strip", 0),
	JF_STR(struct workspace_args, links, "links", 0, 16),
	JF_BOOL(struct workspace_args, ephemeral, "ephemeral", 0),
	JF_BOOL(struct workspace_args, remove_on_close, "removeOnClose", 0),
	JF_BOOL(struct workspace_args, chown, "chown", 0),
	JF_RAW(struct workspace_args, baseline, "baseline", 0),
	JF_END,
};

_Static_assert(PATH_DEPTH_MAX == 128, "the text below says so");

static int workspace_strip(struct request *r, struct jval v, const char *prefix, struct err *e)
{
	if (v.type == J_NONE)
		return 0;
	if (jstr_is(v, "auto"))
		r->strip = STRIP_AUTO;
	else if (jdec_int(v, &r->strip) < 0 || r->strip < 0 || r->strip > PATH_DEPTH_MAX)
		return jdec_refuse(e, prefix, "strip", "FIELD_INVALID",
				   "must be a whole number from 0 to 128, or \"auto\"");
	return 0;
}

static int workspace_links(struct request *r, const char *word, const char *prefix, struct err *e)
{
	static const char *const words[] = { "refuse", "skip", "keep-inside" };

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], word) == 0)
			r->links = words[i];
	return word && !r->links ? jdec_refuse(e, prefix, "links", "FIELD_INVALID",
					       "must be refuse, skip or keep-inside") :
				   0;
}

/* Fields without an archive are refused instead of ignored: the client has most likely forgotten it. */
static int workspace_take(struct request *r, struct workspace_args *a, const char *prefix,
			  struct err *e)
{
	bool replace = !a->mode || strcmp(a->mode, "replace") == 0;

	r->baseline = a->baseline.type == J_TRUE ? 1 : a->baseline.type == J_FALSE ? 0 : -1;
	r->merge = !replace;
	r->ephemeral = a->ephemeral;
	r->remove_on_close = a->remove_on_close;
	r->chown = a->chown;
	r->into = TAKE_PTR(a->into);
	r->has_archive = a->archive != NULL;
	if (!replace && strcmp(a->mode, "merge") != 0)
		return jdec_refuse(e, prefix, "mode", "FIELD_INVALID", "must be replace or merge");
	if (a->archive && sha256_parse(slice_of(a->archive), &r->archive) < 0)
		return jdec_refuse(e, prefix, "archive", "DIGEST_INVALID",
				   "must be sha256: and 64 hex digits");
	if (workspace_strip(r, a->strip, prefix, e) < 0 ||
	    workspace_links(r, a->links, prefix, e) < 0)
		return -EINVAL;
	if (!a->archive && (a->mode || r->strip || r->into || r->links))
		return jdec_refuse(e, prefix, "archive", "FIELD_MISSING",
				   "is what mode, strip, into and links are about");
	if (a->remove_on_close && !a->ephemeral)
		return jdec_refuse(e, prefix, "removeOnClose", "FIELD_INVALID",
				   "goes with ephemeral: a given directory is never removed");
	if (a->baseline.type != J_NONE && r->baseline < 0)
		return jdec_refuse(e, prefix, "baseline", "FIELD_INVALID", "must be true or false");
	return 0;
}

static int request_workspace(struct slice raw, const char *prefix, struct request *r, struct err *e)
{
	struct workspace_args a = { 0 };
	char path[FIELD_SIZE];
	int ret;

	if (!raw.n)
		return 0;
	snprintf(path, sizeof(path), "%sworkspace.", prefix);
	ret = jdec_strict(raw, workspace_fields, path, NO_PARAMETER, &a, e);
	if (ret < 0)
		return ret;
	ret = workspace_take(r, &a, path, e);
	jdec_free(workspace_fields, &a);
	return ret;
}

/* --- skills ------------------------------------------------------------------------------------------------- */

struct skill_args {
	char *archive, *builtin, *path;
};

static const struct jfield skill_fields[] = {
	JF_STR(struct skill_args, archive, "archive", 0, 128),
	JF_STR(struct skill_args, builtin, "builtin", 0, 64),
	JF_STR(struct skill_args, path, "path", 0, PATH_BYTES_MAX),
	JF_END,
};

/* True if name is that of a directory in the one of the baked skills. */
static bool skill_is_plain_name(const char *name)
{
	return *name && *name != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

static int skill_take(struct request_skill *s, struct skill_args *a, const char *prefix,
		      struct err *e)
{
	if (!!a->archive + !!a->builtin + !!a->path != 1)
		return jdec_refuse(e, prefix, "archive", "FIELD_INVALID",
				   "or builtin or path: each skill has exactly one of them");
	if (a->archive) {
		s->source = SKILL_ARCHIVE;
		if (sha256_parse(slice_of(a->archive), &s->digest) < 0)
			return jdec_refuse(e, prefix, "archive", "DIGEST_INVALID",
					   "must be sha256: and 64 hex digits");
		return 0;
	}
	s->source = a->builtin ? SKILL_BUILTIN : SKILL_PATH;
	s->name = a->builtin ? TAKE_PTR(a->builtin) : TAKE_PTR(a->path);
	if (s->source == SKILL_BUILTIN && !skill_is_plain_name(s->name))
		return jdec_refuse(e, prefix, "builtin", "FIELD_INVALID",
				   "must be the name of a skill");
	if (s->source == SKILL_PATH && *s->name != '/')
		return jdec_refuse(e, prefix, "path", "FIELD_INVALID", "must be an absolute path");
	return 0;
}

static int request_skill(struct jval v, size_t i, const char *prefix, struct request *r,
			 struct err *e)
{
	struct skill_args a = { 0 };
	int ret;
	const char *path = SHORT_TEXT(FIELD_SIZE, "%sskills[%zu].", prefix, i);

	ret = request_object(v, skill_fields, path, &a, e);
	if (ret < 0)
		return ret;
	ret = skill_take(GROW(r->skills, r->nskills), &a, path, e);
	jdec_free(skill_fields, &a);
	return ret;
}

static int request_removal(struct jval v, size_t i _unused_, const char *prefix,
			   struct request *r _unused_, struct err *e)
{
	_cleanup_(freep) char *name = NULL;

	if (jstr_decode(v, SKILL_NAME_MAX, &name) < 0 || !skill_is_plain_name(name))
		return jdec_refuse(e, prefix, "names", "FIELD_INVALID",
				   "must hold names of skills");
	return 0;
}

/* --- instructions and files ------------------------------------------------------------------------------------ */

struct text_args {
	char *text;
	bool overwrite;
};

static const struct jfield text_fields[] = {
	JF_STR(struct text_args, text, "text", JF_REQUIRED, REQUEST_TEXT_MAX),
	JF_BOOL(struct text_args, overwrite, "overwrite", 0),
	JF_END,
};

/* A text alone is short for {text}, which does not overwrite. */
static int request_instructions(struct jval v, const char *prefix, struct request *r, struct err *e)
{
	struct text_args a = { 0 };
	int ret;

	if (v.type == J_NONE || v.type == J_NULL)
		return 0;
	if (v.type == J_STRING) {
		if (jstr_decode(v, REQUEST_TEXT_MAX, &r->instructions) == 0)
			return 0;
		return jdec_refuse(e, prefix, "instructions", "FIELD_INVALID",
				   "must be text of at most 1 MiB without NUL");
	}
	if (v.type != J_OBJECT)
		return jdec_refuse(e, prefix, "instructions", "FIELD_INVALID",
				   "must be text, or {text, overwrite}");
	ret = jdec_strict(v.raw, text_fields, SHORT_TEXT(FIELD_SIZE, "%sinstructions.", prefix),
			  NO_PARAMETER, &a, e);
	if (ret < 0)
		return ret;
	r->instructions = a.text;
	r->instructions_overwrite = a.overwrite;
	return 0;
}

struct file_args {
	char *path;
	struct jval text, base64;
	bool executable, overwrite;
};

static const struct jfield file_fields[] = {
	JF_STR(struct file_args, path, "path", JF_REQUIRED | JF_FILLED, PATH_BYTES_MAX),
	JF_TEXT(struct file_args, text, "text", 0),
	JF_TEXT(struct file_args, base64, "base64", 0),
	JF_BOOL(struct file_args, executable, "executable", 0),
	JF_BOOL(struct file_args, overwrite, "overwrite", 0),
	JF_END,
};

/* Decoded here only to be judged; acpd-unpack decodes the raw member again. */
static int file_check_content(const struct file_args *a, const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf bytes = { 0 };
	_cleanup_(freep) char *s = NULL;
	bool text = a->text.type == J_STRING;

	if (text == (a->base64.type == J_STRING))
		return jdec_refuse(e, path, "text", "FIELD_INVALID",
				   "or base64: each file has exactly one of them, a string");
	if (jstr_decode(text ? a->text : a->base64, MESSAGE_MAX, &s) < 0)
		return jdec_refuse(e, path, text ? "text" : "base64", "FIELD_INVALID",
				   "must hold no NUL and no lone surrogate");
	if (!text && base64_decode(slice_of(s), &bytes) < 0)
		return jdec_refuse(e, path, "base64", "FIELD_INVALID", "is not base64");
	return 0;
}

static int request_file(struct jval v, size_t i, const char *prefix, struct request *r _unused_,
			struct err *e)
{
	struct file_args a = { 0 };
	int ret;
	const char *path = SHORT_TEXT(FIELD_SIZE, "%sharnessFiles[%zu].", prefix, i);

	ret = request_object(v, file_fields, path, &a, e);
	if (ret < 0)
		return ret;
	ret = file_check_content(&a, path, e);
	jdec_free(file_fields, &a);
	return ret;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* A raw array that has been checked, for acpd-unpack. */
static char *request_keep_list(struct slice list)
{
	return list.n ? xstrndup(list.p, list.n) : NULL;
}

int request_parse(const struct request_args *a, const char *prefix, struct request *ret,
		  struct err *e)
{
	int r;

	*ret = (struct request){ .baseline = -1 };
	r = request_workspace(a->workspace, prefix, ret, e);
	if (r == 0)
		r = request_list(a->skills, REQUEST_SKILLS_MAX, prefix, "skills",
				 "has more than 128 entries", ret, e, request_skill);
	if (r == 0)
		r = request_list(a->remove_skills, REQUEST_SKILLS_MAX, prefix, "names",
				 "has more than 128 entries", ret, e, request_removal);
	if (r == 0)
		r = request_instructions(a->instructions, prefix, ret, e);
	if (r == 0)
		r = request_list(a->harness_files, REQUEST_FILES_MAX, prefix, "harnessFiles",
				 "has more than 1024 entries; an archive takes any number", ret, e,
				 request_file);
	if (r < 0) {
		request_done(ret);
		return r;
	}
	ret->remove_skills = request_keep_list(a->remove_skills);
	ret->files = request_keep_list(a->harness_files);
	return 0;
}

void request_done(struct request *r)
{
	for (size_t i = 0; i < r->nskills; i++)
		free(r->skills[i].name);
	free_each(r->skills, r->remove_skills, r->into, r->instructions, r->files);
	*r = (struct request){ .baseline = -1 };
}

int request_check_live(const struct request *r, const char *prefix, struct err *e)
{
	const struct {
		bool given;
		const char *field;
	} rows[] = { { r->ephemeral, "workspace.ephemeral" },
		     { r->chown, "workspace.chown" },
		     { r->baseline >= 0, "workspace.baseline" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].given)
			return jdec_refuse(e, prefix, rows[i].field, "FIELD_INVALID",
					   "belongs to session/new");
	return 0;
}

bool request_touches_workspace(const struct request *r)
{
	return r->has_archive || r->instructions || r->files;
}

bool request_writes(const struct request *r)
{
	return request_touches_workspace(r) || request_touches_skills(r);
}

bool request_touches_skills(const struct request *r)
{
	return r->nskills || r->remove_skills;
}
