/*
 * unpack_job.c - decodes an extract job, and checks what the field tables cannot express.
 *
 * The daemon writes jobs from client parameters, so every combination of members is checked here
 * again. The tables decode into the job itself, with what has no place in it beside it. An error names the member and
 * its source by index. job_line stores what it read after a line in the caller's job_input: the next line ("commit") can
 * arrive much later.
 */
#include "unpack/job/unpack_job.h"

#include "base/strv.h"
#include "base/util.h"
#include "digest/base64.h"
#include "json/jstr.h"

#define INPUT_PIECE (64 * KIB)

/* What the tables decode into: the job, and what is checked before it becomes a part of it. */
struct raw_job {
	struct unpack_job job;
	char *mode, *links;
	struct slice limits, sources, remove;
};
struct raw_source {
	struct job_source source;
	char *digest, *format, *text, *base64;
	bool skill;
};

static const struct jfield job_fields[] = {
	JF_STR(struct raw_job, job.target, "target", JF_REQUIRED, PATH_BYTES_MAX),
	JF_STR(struct raw_job, mode, "mode", 0, 16),
	JF_STR(struct raw_job, links, "links", 0, 16),
	JF_STR(struct raw_job, job.manifest, "manifest", 0, PATH_BYTES_MAX - 8),
	JF_STR(struct raw_job, job.baseline, "baseline", 0, PATH_BYTES_MAX - 16),
	JF_STR(struct raw_job, job.delivered, "delivered", 0, PATH_BYTES_MAX - 16),
	JF_INT(struct raw_job, job.uid, "uid", 0, 0, ID_MAX),
	JF_INT(struct raw_job, job.gid, "gid", 0, 0, ID_MAX),
	JF_OBJ(struct raw_job, limits, "limits", 0),
	JF_ARR(struct raw_job, sources, "sources", JF_REQUIRED),
	JF_ARR(struct raw_job, remove, "removeSkills", 0),
	JF_BOOL(struct raw_job, job.confirm, "confirm", 0),
	JF_BOOL(struct raw_job, job.once, "once", 0),
	JF_END,
};
static const struct jfield source_fields[] = {
	JF_STR(struct raw_source, source.archive, "archive", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_source, digest, "digest", 0, 80),
	JF_STR(struct raw_source, format, "format", 0, 16),
	JF_INT(struct raw_source, source.strip, "strip", 0, STRIP_AUTO, PATH_DEPTH_MAX),
	JF_STR(struct raw_source, source.into, "into", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_source, source.directory, "directory", 0, PATH_BYTES_MAX),
	JF_BOOL(struct raw_source, skill, "skill", 0),
	JF_STR(struct raw_source, source.file, "file", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_source, text, "text", 0, UNPACK_JOB_MAX),
	JF_STR(struct raw_source, base64, "base64", 0, UNPACK_JOB_MAX),
	JF_BOOL(struct raw_source, source.executable, "executable", 0),
	JF_BOOL(struct raw_source, source.overwrite, "overwrite", 0),
	JF_BOOL(struct raw_source, source.renew, "renew", 0),
	JF_END,
};
/* Members of plan_limits are unsigned; their maxima here keep them below INT64_MAX. */
static const struct jfield limit_fields[] = {
	JF_INT(struct plan_limits, entries, "entries", 0, 1, 16 * UNPACK_ENTRIES_MAX),
	JF_INT(struct plan_limits, bytes, "bytes", 0, 0, INT64_MAX / 4),
	JF_INT(struct plan_limits, file_bytes, "fileBytes", 0, 0, INT64_MAX / 4),
	JF_INT(struct plan_limits, ratio, "ratio", 0, 1, 1000000),
	JF_INT(struct plan_limits, names.path_bytes, "pathBytes", 0, 1, PATH_BYTES_MAX),
	JF_INT(struct plan_limits, names.depth, "depth", 0, 1, PATH_DEPTH_MAX),
	JF_INT(struct plan_limits, seconds, "seconds", 0, 1, 86400),
	JF_END,
};

static int job_members(struct slice text, const struct jfield *fields, const char *prefix,
		       void *ret, struct err *e)
{
	return jdec_strict(text, fields, prefix, "no such member", ret, e);
}

/* --- sources ---------------------------------------------------------------------------------------------- */

static int job_bad_member(struct err *e, const char *prefix, const char *field, const char *what)
{
	const char *path = SHORT_TEXT(96, "%s%s", prefix, field);

	return err_field(e, path, "PARAM_INVALID", "%s: %s", path, what);
}

static int source_content(struct job_source *s, const struct raw_source *raw, const char *prefix,
			  struct err *e)
{
	if (!raw->text == !raw->base64)
		return job_bad_member(e, prefix, "text", "one of text and base64 is needed");
	s->content.max = UNPACK_JOB_MAX;
	if (raw->text)
		return buf_puts(&s->content, raw->text);
	return base64_decode(slice_of(raw->base64), &s->content) < 0 ?
		       job_bad_member(e, prefix, "base64", "it is not base64") :
		       0;
}

/* Which members go together. */
static int source_check(struct job_source *s, const struct raw_source *raw, const char *prefix,
			struct err *e)
{
	if (!!s->archive + !!s->file + !!s->directory != 1)
		return job_bad_member(e, prefix, "archive",
				      "one of archive, directory and file is needed");
	if (s->directory && !raw->skill)
		return job_bad_member(e, prefix, "directory",
				      "only skills are copied from directories");
	if (!s->archive && (raw->format || s->strip || raw->digest))
		return job_bad_member(e, prefix, "format",
				      "digest, format and strip are for archives");
	s->has_digest = raw->digest != NULL;
	if (raw->digest && sha256_parse(slice_of(raw->digest), &s->digest) < 0)
		return job_bad_member(e, prefix, "digest", "not sha256: and 64 hex digits");
	if (s->into && (s->file || raw->skill))
		return job_bad_member(e, prefix, "into", "neither for files nor for skills");
	if (!s->file && (raw->text || raw->base64 || s->executable || s->overwrite || s->renew))
		return job_bad_member(
			e, prefix, "archive",
			"text, base64, executable, overwrite and renew are for files");
	if (raw->format)
		s->format = archive_format_by_name(raw->format);
	if (raw->format && s->format == ARCHIVE_UNKNOWN)
		return job_bad_member(e, prefix, "format",
				      "not one of tar, tar.gz, tar.zst and zip");
	return s->file ? source_content(s, raw, prefix, e) : 0;
}

static int job_source(struct unpack_job *j, struct jval v, struct err *e)
{
	struct raw_source raw = { 0 };
	bool first = j->n == 0;
	int r;
	const char *prefix = SHORT_TEXT(32, "sources[%zu].", j->n);

	if (j->n == UNPACK_SOURCES_MAX)
		return job_bad_member(e, "", "sources", "too many");
	if (v.type != J_OBJECT)
		return job_bad_member(e, prefix, "", "not an object");
	r = job_members(v.raw, source_fields, prefix, &raw, e);
	if (r < 0)
		return r;
	/* Owned by the job from here on, whatever the checks say. */
	j->sources[j->n++] = raw.source;
	if (!first && raw.skill != j->skills)
		r = job_bad_member(e, prefix, "skill", "for all sources or for none");
	else if (!first && raw.source.strip == STRIP_AUTO)
		r = job_bad_member(e, prefix, "strip", "found out for the first source only");
	j->skills = raw.skill;
	if (r == 0)
		r = source_check(&j->sources[j->n - 1], &raw, prefix, e);
	free_each(raw.digest, raw.format, raw.text, raw.base64);
	return r;
}

static int job_sources(struct slice text, struct unpack_job *j, struct err *e)
{
	j->sources = xalloc(UNPACK_SOURCES_MAX * sizeof(*j->sources));
	jarr_each(v, text) {
		int r = job_source(j, v, e);

		if (r < 0)
			return r;
	}
	return 0;
}

int job_strings(struct slice raw, size_t max, size_t bytes, char ***v, size_t *n)
{
	jarr_each(item, raw) {
		char *text = NULL;

		if (*n == max || jstr_decode(item, bytes, &text) < 0)
			return *n == max ? -E2BIG : -EINVAL;
		*GROW(*v, *n) = text;
	}
	return 0;
}

static int job_removals(struct slice text, struct unpack_job *j, struct err *e)
{
	int r;

	if (!text.n)
		return 0;
	if (j->n && !j->skills)
		return job_bad_member(e, "", "removeSkills", "only with sources that are skills");
	j->skills = true;
	r = job_strings(text, UNPACK_SOURCES_MAX, NAME_BYTES_MAX, &j->remove, &j->nremove);
	if (r < 0)
		return job_bad_member(e, "", "removeSkills",
				      r == -E2BIG ? "too many" : "not an array of names");
	return 0;
}

/* --- the job ------------------------------------------------------------------------------------------------ */

static int job_links(struct unpack_job *j, const char *word, struct err *e)
{
	static const char *const words[LINK_RULES] = { "refuse", "skip", "keep-inside" };

	for (int i = 0; word && i < LINK_RULES; i++) {
		if (strcmp(words[i], word) == 0) {
			j->links = (enum link_rule)i;
			return 0;
		}
	}
	return word ? job_bad_member(e, "", "links", "not one of refuse, skip and keep-inside") : 0;
}

static int job_check(struct unpack_job *j, const struct raw_job *raw, struct err *e)
{
	int r;

	if (j->target[0] != '/')
		return job_bad_member(e, "", "target", "not an absolute path");
	if (raw->mode && strcmp(raw->mode, "replace") != 0 && strcmp(raw->mode, "merge") != 0)
		return job_bad_member(e, "", "mode", "not one of replace and merge");
	if (j->gid >= 0 && j->uid < 0)
		return job_bad_member(e, "", "gid", "without uid");
	j->merge = raw->mode && strcmp(raw->mode, "merge") == 0;
	j->gid = j->gid < 0 ? j->uid : j->gid;
	r = job_links(j, raw->links, e);
	if (r == 0 && raw->limits.n)
		r = job_members(raw->limits, limit_fields, "limits.", &j->limits, e);
	if (r == 0)
		r = job_sources(raw->sources, j, e);
	return r < 0 ? r : job_removals(raw->remove, j, e);
}

int job_parse(struct slice line, struct unpack_job *ret, struct verdict *v)
{
	struct raw_job raw = { .job = { .uid = -1, .gid = -1, .limits = PLAN_LIMITS_DEFAULT } };
	struct err e;
	int r = job_decode(line, job_fields, false, &raw, v);

	if (r < 0)
		return r;
	*ret = raw.job;
	r = job_check(ret, &raw, &e);
	free_each(raw.mode, raw.links);
	if (r == 0)
		return 0;
	job_done(ret);
	return bad_job(v, e.reason, e.field, e.msg);
}

void job_done(struct unpack_job *j)
{
	for (size_t i = 0; i < j->n; i++) {
		struct job_source *s = &j->sources[i];

		free_each(s->archive, s->into, s->directory, s->file);
		buf_done(&s->content);
	}
	strv_free_n(j->remove, j->nremove);
	free_each(j->sources, j->target, j->manifest, j->baseline, j->delivered);
	*j = (struct unpack_job){ .uid = -1 };
}

/* seen: bytes that were searched before, so that a long line in small pieces costs one pass. */
int job_line(struct job_input *in, struct slice *ret)
{
	size_t seen = 0;

	in->b.max = UNPACK_JOB_MAX;
	for (;;) {
		struct slice have = buf_slice(&in->b), rest = slice_after(have, seen);
		ssize_t n;

		if (slice_cut(&rest, '\n', ret)) {
			*ret = (struct slice){ have.p, ret->n + seen };
			in->b.pos +=
				ret->n + 1; /* the bytes stay where they are until the next call */
			return 1;
		}
		seen = have.n;
		if (buf_reserve(&in->b, INPUT_PIECE) < 0)
			return -E2BIG;
		n = RETRY(read(STDIN_FILENO, in->b.data + in->b.len, INPUT_PIECE));
		if (n <= 0)
			return n < 0 ? -errno : 0;
		in->b.len += (size_t)n;
	}
}

int job_decode(struct slice line, const struct jfield *fields, bool absolute, void *ret,
	       struct verdict *v)
{
	const char *const *first = (const char *const *)((char *)ret + fields[0].offset);
	struct err e;
	struct jval object;
	int r = 0;

	if (jscan_value(line, &object) != JSCAN_OK || object.type != J_OBJECT)
		r = err_field(&e, "", "PARAM_INVALID", "the job is not a JSON object");
	if (r == 0)
		r = jdec_strict(line, fields, NULL, "no such member", ret, &e);
	if (r == 0 && absolute && (*first)[0] != '/')
		r = err_field(&e, fields[0].name, "PARAM_INVALID", "not an absolute path");
	return r < 0 ? bad_job(v, e.reason, e.field, e.msg) : 0;
}
