/*
 * unpack_job.c - decodes an extract job, and checks what the field tables cannot express.
 *
 * The daemon writes jobs from client parameters, so every combination of members is checked here
 * again. The tables decode into raw structs; a second pass moves the strings into the job and frees
 * the rest. An error names the member and its source by index. job_line stores what it read after a
 * line in the caller's job_input: the next line ("commit") can arrive much later.
 */
#include "unpack/job/unpack_job.h"

#include "digest/base64.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

#define INPUT_PIECE (64 * KIB)

/* What the tables decode into, before it is checked further. */
struct raw_job {
	char *target, *mode, *links, *manifest, *baseline, *delivered;
	int64_t uid, gid;
	struct slice limits, sources, remove;
	bool confirm, once;
};
struct raw_source {
	char *archive, *digest, *directory, *format, *into, *file, *text, *base64;
	int64_t strip;
	bool executable, overwrite, renew, skill;
};
struct raw_limits {
	int64_t entries, bytes, file_bytes, ratio, path_bytes, depth, seconds;
};

#define ID_MAX 4294967294LL

static const struct jfield job_fields[] = {
	JF_STR(struct raw_job, target, "target", JF_REQUIRED, PATH_BYTES_MAX),
	JF_STR(struct raw_job, mode, "mode", 0, 16),
	JF_STR(struct raw_job, links, "links", 0, 16),
	JF_STR(struct raw_job, manifest, "manifest", 0, PATH_BYTES_MAX - 8),
	JF_STR(struct raw_job, baseline, "baseline", 0, PATH_BYTES_MAX - 16),
	JF_STR(struct raw_job, delivered, "delivered", 0, PATH_BYTES_MAX - 16),
	JF_INT(struct raw_job, uid, "uid", 0, 0, ID_MAX),
	JF_INT(struct raw_job, gid, "gid", 0, 0, ID_MAX),
	JF_OBJ(struct raw_job, limits, "limits", 0),
	JF_ARR(struct raw_job, sources, "sources", JF_REQUIRED),
	JF_ARR(struct raw_job, remove, "removeSkills", 0),
	JF_BOOL(struct raw_job, confirm, "confirm", 0),
	JF_BOOL(struct raw_job, once, "once", 0),
	JF_END,
};
static const struct jfield source_fields[] = {
	JF_STR(struct raw_source, archive, "archive", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_source, digest, "digest", 0, 80),
	JF_STR(struct raw_source, format, "format", 0, 16),
	JF_INT(struct raw_source, strip, "strip", 0, STRIP_AUTO, PATH_DEPTH_MAX),
	JF_STR(struct raw_source, into, "into", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_source, directory, "directory", 0, PATH_BYTES_MAX),
	JF_BOOL(struct raw_source, skill, "skill", 0),
	JF_STR(struct raw_source, file, "file", 0, PATH_BYTES_MAX),
	JF_STR(struct raw_source, text, "text", 0, UNPACK_JOB_MAX),
	JF_STR(struct raw_source, base64, "base64", 0, UNPACK_JOB_MAX),
	JF_BOOL(struct raw_source, executable, "executable", 0),
	JF_BOOL(struct raw_source, overwrite, "overwrite", 0),
	JF_BOOL(struct raw_source, renew, "renew", 0),
	JF_END,
};
static const struct jfield limit_fields[] = {
	JF_INT(struct raw_limits, entries, "entries", 0, 1, 16 * UNPACK_ENTRIES_MAX),
	JF_INT(struct raw_limits, bytes, "bytes", 0, 0, INT64_MAX / 4),
	JF_INT(struct raw_limits, file_bytes, "fileBytes", 0, 0, INT64_MAX / 4),
	JF_INT(struct raw_limits, ratio, "ratio", 0, 1, 1000000),
	JF_INT(struct raw_limits, path_bytes, "pathBytes", 0, 1, PATH_BYTES_MAX),
	JF_INT(struct raw_limits, depth, "depth", 0, 1, PATH_DEPTH_MAX),
	JF_INT(struct raw_limits, seconds, "seconds", 0, 1, 86400),
	JF_END,
};

static int decode(struct slice text, const struct jfield *fields, const char *prefix, void *ret,
		  struct err *e)
{
	return jdec_strict(text, fields, prefix, "no such member", ret, e);
}

/* --- sources ---------------------------------------------------------------------------------------------- */

static int bad(struct err *e, const char *prefix, const char *field, const char *what)
{
	char path[96];

	snprintf(path, sizeof(path), "%s%s", prefix, field);
	return err_field(e, path, "PARAM_INVALID", "%s: %s", path, what);
}

static int take_content(struct job_source *s, struct raw_source *raw, const char *prefix,
			struct err *e)
{
	if (!raw->text == !raw->base64)
		return bad(e, prefix, "text", "one of text and base64 is needed");
	s->content.max = UNPACK_JOB_MAX;
	if (raw->text)
		return buf_puts(&s->content, raw->text);
	return base64_decode(slice_of(raw->base64), &s->content) < 0 ?
		       bad(e, prefix, "base64", "it is not base64") :
		       0;
}

static int take_source(struct job_source *s, struct raw_source *raw, const char *prefix,
		       struct err *e)
{
	s->strip = raw->strip;
	s->executable = raw->executable;
	s->overwrite = raw->overwrite;
	s->renew = raw->renew;
	if (!!raw->archive + !!raw->file + !!raw->directory != 1)
		return bad(e, prefix, "archive", "one of archive, directory and file is needed");
	if (raw->directory && !raw->skill)
		return bad(e, prefix, "directory", "only skills are copied from directories");
	if (!raw->archive && (raw->format || raw->strip || raw->digest))
		return bad(e, prefix, "format", "digest, format and strip are for archives");
	s->has_digest = raw->digest != NULL;
	if (raw->digest && !intact_parse(raw->digest, &s->digest))
		return bad(e, prefix, "digest", "not sha256: and 64 hex digits");
	if (raw->into && (raw->file || raw->skill))
		return bad(e, prefix, "into", "neither for files nor for skills");
	if (!raw->file &&
	    (raw->text || raw->base64 || raw->executable || raw->overwrite || raw->renew))
		return bad(e, prefix, "archive",
			   "text, base64, executable, overwrite and renew are for files");
	if (raw->format)
		s->format = format_by_name(raw->format);
	if (raw->format && s->format == FORMAT_NONE)
		return bad(e, prefix, "format", "not one of tar, tar.gz, tar.zst and zip");
	s->archive = TAKE_PTR(raw->archive);
	s->into = TAKE_PTR(raw->into);
	s->directory = TAKE_PTR(raw->directory);
	s->file = TAKE_PTR(raw->file);
	return s->file ? take_content(s, raw, prefix, e) : 0;
}

static int parse_sources(struct slice text, struct unpack_job *j, struct err *e)
{
	struct jiter it;
	struct jval v;
	int r = 0;

	j->sources = xalloc(UNPACK_SOURCES_MAX * sizeof(*j->sources));
	if (!jiter_init(&it, (struct jval){ J_ARRAY, text }))
		return bad(e, "", "sources", "not an array");
	while (r == 0 && jiter_next(&it, NULL, &v)) {
		struct raw_source raw = { 0 };
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "sources[%zu].", j->n);
		if (j->n == UNPACK_SOURCES_MAX)
			return bad(e, "", "sources", "too many");
		if (v.type != J_OBJECT)
			return bad(e, prefix, "", "not an object");
		r = decode(v.raw, source_fields, prefix, &raw, e);
		if (r == 0 && j->n && raw.skill != j->skills)
			r = bad(e, prefix, "skill", "for all sources or for none");
		if (r == 0 && j->n && raw.strip == STRIP_AUTO)
			r = bad(e, prefix, "strip", "found out for the first source only");
		j->skills = raw.skill;
		if (r == 0)
			r = take_source(&j->sources[j->n++], &raw, prefix, e);
		jdec_free(source_fields, &raw);
	}
	return r;
}

static int parse_removals(struct slice text, struct unpack_job *j, struct err *e)
{
	struct jiter it;
	struct jval v;

	if (!text.n)
		return 0;
	if (j->n && !j->skills)
		return bad(e, "", "removeSkills", "only with sources that are skills");
	j->skills = true;
	j->remove = xalloc(UNPACK_SOURCES_MAX * sizeof(*j->remove));
	jiter_init(&it, (struct jval){ J_ARRAY, text });
	while (jiter_next(&it, NULL, &v)) {
		if (j->nremove == UNPACK_SOURCES_MAX)
			return bad(e, "", "removeSkills", "too many");
		if (jstr_decode(v, NAME_BYTES_MAX, &j->remove[j->nremove]) < 0)
			return bad(e, "", "removeSkills", "not an array of names");
		j->nremove++;
	}
	return 0;
}

/* --- the job ------------------------------------------------------------------------------------------------ */

static int parse_limits(struct slice text, struct plan_limits *l, struct err *e)
{
	struct raw_limits raw = {
		(int64_t)l->entries,	      (int64_t)l->bytes,
		(int64_t)l->file_bytes,	      (int64_t)l->ratio,
		(int64_t)l->names.path_bytes, (int64_t)l->names.depth,
		(int64_t)l->seconds,
	};
	int r = text.n ? decode(text, limit_fields, "limits.", &raw, e) : 0;

	*l = (struct plan_limits){
		(uint64_t)raw.entries,	  (uint64_t)raw.bytes,
		(uint64_t)raw.file_bytes, (uint64_t)raw.ratio,
		(uint64_t)raw.seconds,	  { (size_t)raw.path_bytes, (size_t)raw.depth },
	};
	return r;
}

static int take_links(struct unpack_job *j, const char *word, struct err *e)
{
	static const char *const words[LINK_RULES] = { "refuse", "skip", "keep-inside" };

	for (int i = 0; word && i < LINK_RULES; i++) {
		if (strcmp(words[i], word) == 0) {
			j->links = (enum link_rule)i;
			return 0;
		}
	}
	return word ? bad(e, "", "links", "not one of refuse, skip and keep-inside") : 0;
}

static int take_job(struct unpack_job *j, struct raw_job *raw, struct err *e)
{
	int r;

	if (raw->target[0] != '/')
		return bad(e, "", "target", "not an absolute path");
	if (raw->mode && strcmp(raw->mode, "replace") != 0 && strcmp(raw->mode, "merge") != 0)
		return bad(e, "", "mode", "not one of replace and merge");
	if (raw->gid >= 0 && raw->uid < 0)
		return bad(e, "", "gid", "without uid");
	j->target = TAKE_PTR(raw->target);
	j->manifest = TAKE_PTR(raw->manifest);
	j->baseline = TAKE_PTR(raw->baseline);
	j->delivered = TAKE_PTR(raw->delivered);
	j->merge = raw->mode && strcmp(raw->mode, "merge") == 0;
	j->confirm = raw->confirm;
	j->once = raw->once;
	j->uid = raw->uid;
	j->gid = raw->gid < 0 ? raw->uid : raw->gid;
	r = take_links(j, raw->links, e);
	if (r == 0)
		r = parse_limits(raw->limits, &j->limits, e);
	if (r == 0)
		r = parse_sources(raw->sources, j, e);
	return r < 0 ? r : parse_removals(raw->remove, j, e);
}

int job_parse(struct slice line, struct unpack_job *ret, struct err *e)
{
	struct raw_job raw = { .uid = -1, .gid = -1 };
	struct jval v;
	int r;

	*ret = (struct unpack_job){ .uid = -1, .gid = -1, .limits = PLAN_LIMITS_DEFAULT };
	if (jscan_value(line, &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "", "PARAM_INVALID", "the job is not a JSON object");
	r = decode(line, job_fields, NULL, &raw, e);
	if (r == 0)
		r = take_job(ret, &raw, e);
	jdec_free(job_fields, &raw);
	if (r < 0)
		job_done(ret);
	return r < 0 ? -EINVAL : 0;
}

void job_done(struct unpack_job *j)
{
	for (size_t i = 0; i < j->n; i++) {
		struct job_source *s = &j->sources[i];

		free(s->archive);
		free(s->into);
		free(s->directory);
		free(s->file);
		buf_done(&s->content);
	}
	for (size_t i = 0; i < j->nremove; i++)
		free(j->remove[i]);
	free(j->remove);
	free(j->sources);
	free(j->target);
	free(j->manifest);
	free(j->baseline);
	free(j->delivered);
	*j = (struct unpack_job){ .uid = -1 };
}

int job_line(struct job_input *in, struct slice *ret)
{
	size_t seen = 0;

	in->b.max = UNPACK_JOB_MAX;
	for (;;) {
		struct slice have = buf_slice(&in->b);
		const char *end = have.n > seen ? memchr(have.p + seen, '\n', have.n - seen) : NULL;
		ssize_t n;

		if (end) {
			*ret = (struct slice){ have.p, (size_t)(end - have.p) };
			in->b.pos +=
				ret->n + 1; /* the bytes stay where they are until the next call */
			return 1;
		}
		seen = have.n;
		if (buf_reserve(&in->b, INPUT_PIECE) < 0)
			return -E2BIG;
		n = read(STDIN_FILENO, in->b.data + in->b.len, INPUT_PIECE);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		if (n > 0)
			in->b.len += (size_t)n;
	}
}

int job_decode(struct slice line, const struct jfield *fields, void *ret, char *const *directory,
	       struct verdict *v)
{
	struct err e;
	struct jval object;
	int r = 0;

	if (jscan_value(line, &object) != JSCAN_OK || object.type != J_OBJECT)
		r = err_field(&e, "", "PARAM_INVALID", "the job is not a JSON object");
	if (r == 0)
		r = jdec_strict(line, fields, NULL, "no such member", ret, &e);
	if (r == 0 && directory && (*directory)[0] != '/')
		r = err_field(&e, fields[0].name, "PARAM_INVALID", "not an absolute path");
	if (r < 0) {
		fail_err(v, r, &e);
		v->kind = VERDICT_BAD_JOB;
	}
	return r;
}
