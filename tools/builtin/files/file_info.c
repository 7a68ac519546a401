/* file_info.c - getFileInfo, checkFileExists, getFileSize: of the name itself; a link is not followed. */
#include "base/limits.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/files/file_walk.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>

struct file_stat {
	struct tool_path_entry at;
	struct stat sb;
};

static int stat_path(struct builtin_call *c, const char *path, struct file_stat *l, struct err *e)
{
	int r = tool_path_entry(c, path, TOOL_PATH_STAT, false, &l->at, e);

	if (r < 0)
		return r;
	if (fstatat(l->at.dir, l->at.is_root ? "" : l->at.leaf, &l->sb,
		    AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		r = tool_errno(e, errno, "cannot look at", path);
	if (r < 0)
		tool_path_entry_done(&l->at);
	return r;
}

/* --- getFileInfo --------------------------------------------------------------------- */

static void permissions(mode_t mode, char out[10])
{
	static const char bits[] = "rwxrwxrwx";

	for (int i = 0; i < 9; i++)
		out[i] = mode & (0400u >> i) ? bits[i] : '-';
	/* As ls(1) shows these bits: a capital letter if the execute bit is not set. */
	if (mode & S_ISUID)
		out[2] = out[2] == 'x' ? 's' : 'S';
	if (mode & S_ISGID)
		out[5] = out[5] == 'x' ? 's' : 'S';
	if (mode & S_ISVTX)
		out[8] = out[8] == 'x' ? 't' : 'T';
	out[9] = '\0';
}

static void owners_put(struct jw *w, const struct stat *sb)
{
	char room[4096], number[24];
	struct passwd pw, *user = NULL;
	struct group gr, *group = NULL;

	snprintf(number, sizeof(number), "%u", sb->st_uid);
	/* An error, or an entry larger than the buffer (ERANGE): the number is shown instead. */
	if (getpwuid_r(sb->st_uid, &pw, room, sizeof(room), &user) != 0)
		user = NULL;
	jw_str(w, "owner", user ? user->pw_name : number);
	snprintf(number, sizeof(number), "%u", sb->st_gid);
	if (getgrgid_r(sb->st_gid, &gr, room, sizeof(room), &group) != 0)
		group = NULL;
	jw_str(w, "group", group ? group->gr_name : number);
	jw_int(w, "uid", sb->st_uid);
	jw_int(w, "gid", sb->st_gid);
}

static void info_put(struct jw *w, const struct file_stat *l)
{
	const char *slash = strrchr(l->at.real, '/');
	_cleanup_(freep) char *target = NULL;
	char rights[10];

	permissions(l->sb.st_mode, rights);
	name_put(w, "name", slash && slash[1] ? slash + 1 : "/");
	jw_str(w, "type", stat_type(&l->sb));
	jw_bool(w, "isDir", S_ISDIR(l->sb.st_mode));
	jw_bool(w, "isDirectory", S_ISDIR(l->sb.st_mode));
	jw_int(w, "size", l->sb.st_size);
	jw_int(w, "mode", l->sb.st_mode & 07777);
	jw_str(w, "permissions", rights);
	owners_put(w, &l->sb);
	time_put(w, "modTime", &l->sb.st_mtim);
	time_put(w, "modifiedTime", &l->sb.st_mtim);
	stat_put_version(w, &l->sb);
	jw_int(w, "links", (int64_t)l->sb.st_nlink);
	if (S_ISLNK(l->sb.st_mode))
		target = link_target(l->at.dir, l->at.leaf);
	if (target)
		name_put(w, "symlinkTarget", target);
}

static int get_info(struct builtin_call *c, struct jw *w, struct err *e)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	struct file_stat l;
	int r = stat_path(c, path, &l, e);

	if (r < 0)
		return r;
	jw_str(w, "path", path);
	info_put(w, &l);
	tool_path_entry_done(&l.at);
	return 0;
}

/* --- checkFileExists ------------------------------------------------------------------- */

static int check_exists(struct builtin_call *c, struct jw *w, struct err *e)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	struct file_stat l;
	int r = stat_path(c, path, &l, e);

	/* ENOTDIR: a component of the path is a file, so nothing can have this name. */
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return r;
	jw_bool(w, "exists", r == 0);
	jw_str(w, "path", path);
	jw_bool(w, "isDirectory", r == 0 && S_ISDIR(l.sb.st_mode));
	if (r == 0) {
		jw_str(w, "type", stat_type(&l.sb));
		tool_path_entry_done(&l.at);
	}
	return 0;
}

/* --- getFileSize ------------------------------------------------------------------------ */

struct size_sum {
	int64_t bytes, files;
};

static int size_sum_add(void *ctx, const struct tree_entry *e)
{
	struct size_sum *s = ctx;

	if (S_ISREG(e->sb.st_mode)) {
		s->bytes += e->sb.st_size;
		s->files++;
	}
	return 0;
}

static void human_put(struct jw *w, int64_t size)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
	double v = (double)size;
	size_t i = 0;

	while (v >= 1024 && i + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		i++;
	}
	jw_str(w, "humanReadableSize", SHORT_TEXT(40, i ? "%.1f %s" : "%.0f %s", v, units[i]));
}

static int size_sum_of(struct builtin_call *c, const struct file_stat *l, const char *path,
		       struct size_sum *sum, struct err *e)
{
	static const struct file_walk_options all = { 0 };
	struct tool_path p = { .real = l->at.real, .sb = l->sb };
	int r;

	p.fd = openat(l->at.dir, l->at.is_root ? "." : l->at.leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (p.fd < 0)
		return tool_errno(e, errno, "cannot look at", path);
	r = file_walk_below(c, &p, &all, size_sum_add, sum, e);
	close(p.fd);
	return r;
}

static int get_size(struct builtin_call *c, struct jw *w, struct err *e)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	bool recursive = tool_arg_bool(c, "recursive", false);
	struct size_sum sum = { 0 };
	struct file_stat l = { .at = TOOL_PATH_ENTRY_NONE };
	int r = stat_path(c, path, &l, e);

	recursive &= r == 0 && S_ISDIR(l.sb.st_mode);
	if (recursive)
		r = size_sum_of(c, &l, path, &sum, e);
	tool_path_entry_done(&l.at);
	/* Out of time: the sum until then is the result, marked as partial. */
	if (r < 0 && r != -ECANCELED)
		return r;
	jw_int(w, "size", recursive ? sum.bytes : l.sb.st_size);
	if (tool_arg_bool(c, "humanReadable", false))
		human_put(w, recursive ? sum.bytes : l.sb.st_size);
	jw_str(w, "path", path);
	jw_bool(w, "isDirectory", S_ISDIR(l.sb.st_mode));
	jw_str(w, "type", stat_type(&l.sb));
	if (recursive) {
		jw_int(w, "files", sum.files);
		jw_bool(w, "partial", r == -ECANCELED);
	}
	return 0;
}

/* --- tables -------------------------------------------------------------------------- */

#define PATH_IN TF_STRING("path", TOOL_REQUIRED, PATH_TEXT)
#define PATH_OUT TF_STRING("path", TOOL_REQUIRED, "as it was given")
#define DIRECTORY_OUT TF_BOOL("isDirectory", TOOL_REQUIRED, "of itself: false for a link")
#define TYPE_OUT TF_STRING("type", 0, "of itself", .words = type_words)

static const struct tool_field path_in[] = {
	PATH_IN,
	{ 0 },
};

static const struct tool_field info_out[] = {
	TF_STRING("name", TOOL_REQUIRED, "last part of its real path"),
	TF_STRING("nameBase64", 0, "its bytes, if they are no UTF-8"),
	PATH_OUT,
	TYPE_OUT,
	TF_BOOL("isDir", TOOL_REQUIRED, "the same as isDirectory"),
	DIRECTORY_OUT,
	TF_INT("size", TOOL_REQUIRED, "bytes"),
	TF_INT("mode", TOOL_REQUIRED, "permission bits as a number"),
	TF_STRING("permissions", TOOL_REQUIRED, "the same as rwxr-xr-x"),
	TF_STRING("owner", TOOL_REQUIRED, "name, or number if it has none"),
	TF_STRING("group", TOOL_REQUIRED, "the same"),
	TF_INT("uid", 0, "number of the owner"),
	TF_INT("gid", 0, "number of the group"),
	TF_STRING("modTime", TOOL_REQUIRED, "last change, ISO 8601"),
	TF_STRING("modifiedTime", TOOL_REQUIRED, "the same"),
	VERSION_OUT,
	TF_INT("links", 0, "hard links"),
	TF_STRING("symlinkTarget", 0, "of a link, as it says"),
	TF_STRING("symlinkTargetBase64", 0, "its bytes, if they are no UTF-8"),
	{ 0 },
};

static const struct tool_field exists_out[] = {
	TF_BOOL("exists", TOOL_REQUIRED, "a link does, wherever it leads"),
	PATH_OUT,
	DIRECTORY_OUT,
	TYPE_OUT,
	{ 0 },
};

static const struct tool_field size_in[] = {
	PATH_IN,
	TF_BOOL("humanReadable", 0, "give humanReadableSize, too", .fallback = "false"),
	TF_BOOL("recursive", 0, "of a directory: all files in it; else its own entry",
		.fallback = "false"),
	{ 0 },
};

static const struct tool_field size_out[] = {
	TF_INT("size", TOOL_REQUIRED, "bytes"),
	TF_STRING("humanReadableSize", 0, "like 1.5 KB; a KB is 1024 bytes"),
	PATH_OUT,
	DIRECTORY_OUT,
	TYPE_OUT,
	TF_INT("files", 0, "recursive: how many"),
	TF_BOOL("partial", 0, "recursive: the time was over before all were counted"),
	{ 0 },
};

const struct builtin_tool info_tools[] = {
	BUILTIN_TOOL("getFileInfo", "Look at a file",
		     "Type, size, rights, owners and times of a file; a link is not followed.",
		     CATEGORY_READ, HINT_READ_ONLY | HINT_IDEMPOTENT, path_in, info_out,
		     .result = get_info),
	BUILTIN_TOOL("checkFileExists", "Does a file exist",
		     "Whether there is a file, directory or link of this name.", CATEGORY_READ,
		     HINT_READ_ONLY | HINT_IDEMPOTENT, path_in, exists_out, .result = check_exists),
	BUILTIN_TOOL("getFileSize", "Size of a file",
		     "Size of a file, or of all files in a directory.", CATEGORY_READ,
		     HINT_READ_ONLY | HINT_IDEMPOTENT, size_in, size_out, .result = get_size),
	{ 0 },
};
