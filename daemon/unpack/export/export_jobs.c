/*
 * export_jobs.c - the jobs that read a tree: a table of verbs, with a step for each set of rights.
 *
 * open and commit run with the daemon's rights, enter as the tree's user, run in confinement. enter
 * and run happen in a forked worker, so run may use only descriptors of open and enter. Everything
 * that needs a file outside the tree, such as the locale, must happen in open.
 */
#include "unpack/export/export_jobs.h"

#include "base/util.h"
#include "base/clock.h"
#include "base/strv.h"
#include "unpack/job/unpack_job.h"

#include <fcntl.h>
#include <locale.h>

#define JOB_ROOT JF_STR(struct export_params, root, "root", JF_REQUIRED, PATH_BYTES_MAX)
#define JOB_COMMON                                                                                 \
	JF_STR(struct export_params, ignore, "ignore", 0, 16),                                     \
		JF_INT(struct export_params, uid, "uid", 0, 0, ID_MAX),                            \
		JF_INT(struct export_params, gid, "gid", 0, 0, ID_MAX),                            \
		JF_OBJ(struct export_params, limits, "limits", 0)

static const struct jfield pack_fields[] = {
	JOB_ROOT,
	JF_STR(struct export_params, below, "below", 0, PATH_BYTES_MAX),
	JF_STR(struct export_params, format, "format", JF_REQUIRED, 16),
	JF_ARR(struct export_params, paths, "paths", 0),
	JOB_COMMON,
	JF_END,
};

static const struct jfield bundle_fields[] = {
	JOB_ROOT,
	JF_OBJ(struct export_params, about, "about", JF_REQUIRED),
	JF_END,
};

static const struct jfield bundle_check_fields[] = {
	JOB_ROOT,
	JF_END,
};

static const struct jfield snapshot_fields[] = {
	JOB_ROOT,
	JF_STR(struct export_params, dir, "dir", JF_REQUIRED, PATH_BYTES_MAX),
	JF_INT(struct export_params, turn, "turn", JF_REQUIRED, 0, UINT32_MAX),
	JF_STR(struct export_params, patch, "patch", 0, PATH_BYTES_MAX),
	JOB_COMMON,
	JF_END,
};

static const struct jfield diff_fields[] = {
	JOB_ROOT,
	JF_STR(struct export_params, dir, "dir", JF_REQUIRED, PATH_BYTES_MAX),
	JF_INT(struct export_params, since, "since", JF_REQUIRED, 0, UINT32_MAX),
	JF_STR(struct export_params, patch, "patch", 0, PATH_BYTES_MAX),
	JF_BOOL(struct export_params, list, "list", 0),
	JF_BOOL(struct export_params, nearest, "nearest", 0),
	JF_ARR(struct export_params, allow, "allow", 0),
	JF_ARR(struct export_params, deny, "deny", 0),
	JOB_COMMON,
	JF_END,
};

static const struct jfield fold_fields[] = {
	JOB_ROOT,
	JF_STR(struct export_params, dir, "dir", JF_REQUIRED, PATH_BYTES_MAX),
	JOB_COMMON,
	JF_END,
};

/* The members are unsigned; their maxima keep them below INT64_MAX. */
static const struct jfield limit_fields[] = {
	JF_INT(struct export_job, tree.limits.file_bytes, "fileBytes", 0, 0, SNAPSHOT_FILE_MAX),
	JF_INT(struct export_job, tree.limits.bytes, "bytes", 0, 0, INT64_MAX),
	JF_INT(struct export_job, tree.limits.entries, "entries", 0, 0, UINT32_MAX),
	JF_INT(struct export_job, seconds, "seconds", 0, 0, UINT32_MAX),
	JF_INT(struct export_job, tree.limits.patch_bytes, "patchBytes", 0, 0, SNAPSHOT_PATCH_MAX),
	JF_END,
};

static int bad_export(struct verdict *v, const char *field, const char *text)
{
	return bad_job(v, "JOB_INVALID", field, text);
}

static uint64_t export_deadline(const struct export_job *o)
{
	return o->seconds ? clock_mono_ms() + o->seconds * 1000 : 0;
}

/* --- pack ----------------------------------------------------------------------------------------------- */

/* They are cleaned in place: the archive is compared with them byte for byte. */
static int export_take_paths(struct export_job *o, struct slice paths, struct verdict *v)
{
	int r = job_strings(paths, EXPORT_PATHS_MAX, PATH_BYTES_MAX, &o->export.paths,
			    &o->export.npaths);

	for (size_t i = 0; i < o->export.npaths; i++)
		if (tree_pack_clean_path(o->export.paths[i]) < 0)
			return refuse(v, "PATH_INVALID", o->export.paths[i],
				      "a path of the tree, relative, without \"..\"");
	if (r < 0)
		return bad_export(v, "paths",
				  r == -E2BIG ? "too many of them" : "each must be a string");
	return 0;
}

static int open_export(struct export_job *o, struct verdict *v)
{
	o->export.format = archive_format_by_name(o->job.format);
	if (o->export.format == ARCHIVE_UNKNOWN)
		return bad_export(v, "format", "not one of tar, tar.gz, tar.zst, zip");
	/* without it libarchive cannot decode names; it reads a file, so it precedes confinement */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (o->job.below && tree_pack_clean_path(o->job.below) < 0)
		return refuse(v, "PATH_INVALID", o->job.below, "a path below root, without \"..\"");
	return o->job.paths.n ? export_take_paths(o, o->job.paths, v) : 0;
}

static int export_not_entered(struct verdict *v, int error, const char *path)
{
	if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP)
		return refuse(v, "PATH_NOT_FOUND", path,
			      "there is no such directory, or a symbolic link is on the way");
	if (error == -EXDEV)
		return refuse(v, "OTHER_FILE_SYSTEM", path, "something is mounted on the way");
	return fail_with(v, error, path, "opening the tree");
}

/* The path of the root is trusted; below it no link is followed. */
static int enter_below(struct export_job *o, struct verdict *v)
{
	_cleanup_(held_done) struct held h;
	int fd;

	held_init(&h, o->tree.root);
	fd = held_dir(&h, slice_of(o->job.below));
	if (fd >= 0)
		fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		errno = -fd;
	if (fd < 0)
		return export_not_entered(v, -errno, o->job.below);
	close(o->tree.root);
	o->tree.root = fd;
	return 0;
}

static int enter_export(struct export_job *o, struct verdict *v)
{
	int r = o->job.below && *o->job.below ? enter_below(o, v) : 0;

	if (r < 0)
		return r;
	o->export.root = o->tree.root;
	o->export.gitignore = o->tree.gitignore;
	o->export.entries = o->tree.limits.entries;
	o->export.bytes = o->tree.limits.bytes;
	return tree_pack_check(&o->export, v);
}

static int run_export(struct export_job *o, int out, struct verdict *v)
{
	o->export.deadline_ms = export_deadline(o);
	return tree_pack_write(&o->export, out, &o->exported, v);
}

static void report_export(struct export_job *o, struct jw *w)
{
	const struct tree_pack_report *r = &o->exported;

	jw_uint(w, "files", r->files);
	jw_uint(w, "directories", r->directories);
	jw_uint(w, "links", r->links);
	jw_uint(w, "bytes", r->bytes);
	jw_uint(w, "archiveBytes", r->archive_bytes);
	list_put(w, "skipped", &r->skipped.json, "skippedTotal", r->skipped.total);
	list_put(w, "changed", &r->changed.json, "changedTotal", r->changed.total);
}

/* --- bundles -------------------------------------------------------------------------------------------- */

static int run_bundle(struct export_job *o, int out, struct verdict *v)
{
	return bundle_write(o->tree.root, o->job.about, out, &o->exported, v);
}

static int run_bundle_check(struct export_job *o, int out _unused_, struct verdict *v)
{
	return bundle_check(o->tree.root, &o->manifest, v);
}

static void report_bundle_check(struct export_job *o, struct jw *w)
{
	jw_str(w, "sessionId", o->manifest.session_id);
	jw_uint(w, "files", o->manifest.n);
	jw_uint(w, "bytes", o->manifest.bytes);
}

/* --- snapshot and diff ---------------------------------------------------------------------------------- */

static int open_snapshot(struct export_job *o, struct verdict *v)
{
	return snapshot_dir_open_snapshot(&o->state, o->job.dir, (uint32_t)o->job.turn,
					  o->job.patch, v);
}

static int export_open_diff(struct export_job *o, struct verdict *v)
{
	if (offending_init(&o->offending, o->job.allow, o->job.deny) < 0)
		return bad_export(v, "allow", "it and deny are arrays of patterns");
	return snapshot_dir_open_diff(&o->state, o->job.dir, (uint32_t)o->job.since, o->job.nearest,
				      o->job.patch, v);
}

/* A diff has the history of its state; a snapshot's is empty, and compares with the index alone. */
static const struct snapshot_job *export_begin_tree(struct export_job *o)
{
	o->tree.turn = o->state.turn;
	o->tree.history = &o->state.history;
	o->tree.list = o->job.list;
	o->tree.offending = &o->offending;
	o->tree.limits.deadline_ms = export_deadline(o);
	return &o->tree;
}

static int run_snapshot(struct export_job *o, int out _unused_, struct verdict *v)
{
	return snapshot_take(export_begin_tree(o), &o->state.files, &o->snapshot, v);
}

/* Without a list of what was delivered there is nothing to do. */
static int open_fold(struct export_job *o, struct verdict *v)
{
	return MIN(snapshot_dir_open_fold(&o->state, o->job.dir, v), 0);
}

static int run_fold(struct export_job *o, int out _unused_, struct verdict *v)
{
	return o->state.dir < 0 ?
		       0 :
		       delivered_fold(export_begin_tree(o), &o->state.files, &o->snapshot, v);
}

static void report_fold(struct export_job *o, struct jw *w)
{
	jw_uint(w, "files", o->snapshot.files);
	jw_uint(w, "folded", o->snapshot.changed);
}

static void report_snapshot(struct export_job *o, struct jw *w)
{
	const struct snapshot_report *r = &o->snapshot;

	jw_uint(w, "files", r->files);
	jw_uint(w, "bytes", r->bytes);
	jw_uint(w, "changed", r->changed);
	jw_uint(w, "read", r->read);
	list_put(w, "omitted", &r->omitted.json, "omittedTotal", r->omitted.total);
	if (r->ignored.total)
		list_put(w, "ignored", &r->ignored.json, "ignoredTotal", r->ignored.total);
	if (o->job.list)
		changes_put(&o->snapshot.changes, w);
	if (o->offending.wanted)
		list_put(w, "offending", &o->offending.json, "offendingTotal", o->offending.total);
	if (o->job.patch)
		patchfile_report(w, r->patch_bytes, &r->patch);
}

/* --- all of them ---------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct export_verb export_verbs[] = {
	/* an archive takes as long as its reader does */
	{ "pack", pack_fields, INT64_MAX, 0, open_export, enter_export, run_export, report_export },
	{ "bundle", bundle_fields, INT64_MAX, 0, NULL, NULL, run_bundle, report_export },
	{ "bundle-check", bundle_check_fields, INT64_MAX, UNPACK_SECS_MAX, NULL, NULL, run_bundle_check, report_bundle_check },
	{ "snapshot", snapshot_fields, SNAPSHOT_BYTES_MAX, UNPACK_SECS_MAX, open_snapshot, NULL, run_snapshot, report_snapshot },
	{ "fold", fold_fields, SNAPSHOT_BYTES_MAX, UNPACK_SECS_MAX, open_fold, NULL, run_fold, report_fold },
	{ "diff", diff_fields, SNAPSHOT_BYTES_MAX, UNPACK_SECS_MAX, export_open_diff, NULL, run_snapshot, report_snapshot },
};
/* clang-format on */

static int export_take_fields(struct slice text, const struct jfield *fields, const char *prefix,
			      void *ret, struct verdict *v)
{
	struct err e = { 0 };
	int r = jdec_object(text, fields, prefix, ret, &e);

	if (r == 0)
		r = jdec_refuse_unknown(text, fields, prefix, "no such member of this job", &e);
	return r < 0 ? bad_export(v, e.field, e.msg) : 0;
}

/* Members first: the limits are an object of their own, and its errors name them "limits.". */
static int export_parse(struct export_job *o, struct slice text, struct verdict *v)
{
	const char *ignore;
	int r = export_take_fields(text, o->verb->fields, "", &o->job, v);

	if (r == 0 && o->job.limits.n)
		r = export_take_fields(o->job.limits, limit_fields, "limits.", o, v);
	if (r < 0)
		return r;
	ignore = o->job.ignore ? o->job.ignore : "none";
	o->tree.gitignore = strcmp(ignore, "gitignore") == 0;
	if (!o->tree.gitignore && strcmp(ignore, "none") != 0)
		return bad_export(v, "ignore", "neither gitignore nor none");
	return 0;
}

/* The limits are set before the job is parsed, whose own limits replace them. */
struct export_job *export_job_open(const char *verb, struct slice job, struct verdict *v)
{
	struct export_job *o = new0(struct export_job);
	int r;

	o->tree.root = -1;
	snapshot_dir_init(&o->state);
	for (size_t i = 0; i < ARRAY_SIZE(export_verbs); i++)
		if (strcmp(verb, export_verbs[i].word) == 0)
			o->verb = &export_verbs[i];
	if (!o->verb) {
		bad_export(v, NULL, "no such verb");
		return export_job_free(o);
	}
	o->job.uid = o->job.gid = -1;
	o->seconds = o->verb->seconds;
	o->tree.limits = (struct snapshot_limits){ .file_bytes = SNAPSHOT_FILE_MAX,
						   .bytes = o->verb->bytes,
						   .entries = UNPACK_ENTRIES_MAX,
						   .patch_bytes = SNAPSHOT_PATCH_MAX };
	r = export_parse(o, job, v);
	if (r == 0)
		r = o->verb->open ? o->verb->open(o, v) : 0;
	return r < 0 ? export_job_free(o) : o;
}

struct export_job *export_job_free(struct export_job *o)
{
	closep(&o->tree.root);
	snapshot_dir_close(&o->state);
	snapshot_report_done(&o->snapshot);
	offending_done(&o->offending);
	tree_pack_report_done(&o->exported);
	bundle_manifest_done(&o->manifest);
	strv_free_n(o->export.paths, o->export.npaths);
	if (o->verb)
		jdec_free(o->verb->fields, &o->job);
	free(o);
	return NULL;
}

/* Pack, index and turns; an archive may go into a file and be of any size. */
uint64_t export_job_file_max(const struct export_job *o)
{
	return o->verb->enter ? UINT64_MAX : MAX(o->tree.limits.bytes, TREE_MANIFEST_MAX);
}

int export_job_enter(struct export_job *o, struct verdict *v)
{
	o->tree.root = open(o->job.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->tree.root < 0)
		return o->verb->enter ? export_not_entered(v, -errno, o->job.root) :
					fail_with(v, -errno, o->job.root, "opening the tree");
	return o->verb->enter ? o->verb->enter(o, v) : 0;
}
