/*
 * dir.c - the directory of a skill: the rules over the names, types and sizes of what is in it, and a skill on disk.
 *
 * Links are walked by the listing alone, never by the kernel: the rules give the same answer for an archive that is not
 * unpacked. On disk tree/tree_walker.h walks: it opens name by name with O_NOFOLLOW, even if the tree changes meanwhile.
 */
#include "skill/skill_internal.h"

#include "base/util.h"
#include "base/os/file.h"
#include "base/format/utf8.h"
#include "tree/tree_walker.h"

#define PATH_MAX_BYTES 4096

struct skill_listing {
	const struct skill_entry **sorted; /* by path */
	size_t n;
	struct skill_report *r;
};

static int listing_by_path(const void *a, const void *b)
{
	return strcmp((*(const struct skill_entry *const *)a)->path,
		      (*(const struct skill_entry *const *)b)->path);
}

static const struct skill_entry *listing_find(const struct skill_listing *l, const char *path)
{
	const struct skill_entry key = { .path = (char *)(uintptr_t)path }, *k = &key;
	/* bsearch compares with an entry, of which only the path is read. */
	const struct skill_entry **at = bsearch(&k, l->sorted, l->n, sizeof(k), listing_by_path);

	return at ? *at : NULL;
}

/* --- symbolic links ---------------------------------------------------------------------------------- */

enum link_end { LINK_INSIDE, LINK_ABSOLUTE, LINK_OUTWARD, LINK_LOOP, LINK_DANGLING };

struct link_path {
	char at[PATH_MAX_BYTES]; /* where we are, without links; "" is the skill's root */
	char todo[2 *
		  PATH_MAX_BYTES]; /* what is still to be walked, from pos to the end of the array */
	size_t pos;
	unsigned hops;
};

static void link_leave(struct link_path *w)
{
	char *slash = strrchr(w->at, '/');

	*(slash ? slash : w->at) = '\0';
}

/* at names a link: its target is put before the rest of the path. */
static enum link_end link_follow(struct link_path *w, const struct skill_entry *link)
{
	struct slice target = slice_of(link->target);

	/* A path that outgrows todo counts as a loop, too: no honest skill has one. */
	if (++w->hops > SKILL_LINK_HOPS || target.n >= w->pos)
		return LINK_LOOP;
	if (target.n && target.p[0] == '/')
		return LINK_ABSOLUTE;
	w->todo[--w->pos] = '/';
	w->pos -= target.n;
	if (target.n)
		memcpy(w->todo + w->pos, target.p, target.n);
	link_leave(w);
	return LINK_INSIDE;
}

/* Walks one component of todo; LINK_INSIDE: the walk goes on. */
static enum link_end link_step(const struct skill_listing *l, struct link_path *w)
{
	const char *next = w->todo + w->pos;
	size_t n = strcspn(next, "/"), have = strlen(w->at);
	char name[PATH_MAX_BYTES];
	const struct skill_entry *e;

	/* 2: a slash and the NUL. */
	if (n >= sizeof(name) || have + n + 2 > sizeof(w->at))
		return LINK_DANGLING;
	memcpy(name, next, n);
	name[n] = '\0';
	w->pos += n + (next[n] == '/');
	if (!*name || strcmp(name, ".") == 0)
		return LINK_INSIDE;
	if (strcmp(name, "..") == 0) {
		if (!have)
			return LINK_OUTWARD;
		link_leave(w);
		return LINK_INSIDE;
	}
	if (have)
		w->at[have++] = '/';
	memcpy(w->at + have, name, n + 1);
	e = listing_find(l, w->at);
	if (!e)
		return LINK_DANGLING;
	return e->type == SKILL_ENTRY_SYMLINK ? link_follow(w, e) : LINK_INSIDE;
}

static enum link_end link_walk(const struct skill_listing *l, const struct skill_entry *link)
{
	/* todo is filled from its end, so that a target goes before the rest without moving it. */
	struct link_path w = { .pos = sizeof(w.todo) - 1 };
	enum link_end end;

	if (strlen(link->path) >= sizeof(w.at))
		return LINK_OUTWARD;
	strcpy(w.at, link->path);
	end = link_follow(&w, link);
	while (end == LINK_INSIDE && w.todo[w.pos])
		end = link_step(l, &w);
	return end;
}

static void listing_check_link(const struct skill_listing *l, const struct skill_entry *e)
{
	static const struct {
		enum skill_severity severity;
		const char *code, *msg;
	} rows[] = {
		[LINK_ABSOLUTE] = { SKILL_FATAL, "SYMLINK_ABSOLUTE",
				    "the symbolic link has an absolute target" },
		[LINK_OUTWARD] = { SKILL_FATAL, "SYMLINK_OUTWARD",
				   "the symbolic link leaves the skill" },
		[LINK_LOOP] = { SKILL_FATAL, "SYMLINK_LOOP",
				"the symbolic link leads through too many others" },
		[LINK_DANGLING] = { SKILL_WARNING, "SYMLINK_DANGLING",
				    "the symbolic link leads to nothing" },
	};
	enum link_end end = link_walk(l, e);

	if (end != LINK_INSIDE)
		skill_note(l->r, rows[end].severity, rows[end].code, AT_PATH(e->path), "%s",
			   rows[end].msg);
}

/* --- single entries ------------------------------------------------------------------------------------ */

static const char *const skill_files[] = { "SKILL.md", "skill.md" };

static bool is_nested_skill(const char *path)
{
	const char *base = strrchr(path, '/');

	/* A path without a slash is the skill's own file. */
	return base &&
	       (strcmp(base + 1, skill_files[0]) == 0 || strcmp(base + 1, skill_files[1]) == 0);
}

static void listing_check_entry(const struct skill_listing *l, const struct skill_entry *e)
{
	if (!utf8_valid(slice_of(e->path)))
		skill_note(l->r, SKILL_ERROR, "PATH_NOT_UTF8", AT_PATH(e->path),
			   "the name is not UTF-8");
	if (e->type == SKILL_ENTRY_SYMLINK)
		listing_check_link(l, e);
	else if (e->type == SKILL_ENTRY_OTHER)
		skill_note(l->r, SKILL_FATAL, "SPECIAL_FILE", AT_PATH(e->path),
			   "neither file, directory nor symbolic link");
	else if (e->type == SKILL_ENTRY_FILE && e->mode & 06000)
		skill_note(l->r, SKILL_FATAL, "SETID", AT_PATH(e->path),
			   "the file has a set-user or set-group bit");
	if (e->type == SKILL_ENTRY_FILE && is_nested_skill(e->path))
		skill_note(
			l->r, SKILL_WARNING, "NESTED_SKILL", AT_PATH(e->path),
			"a skill within the skill: some harnesses list it by itself, others never see it");
}

static void listing_check_skill_file(const struct skill_listing *l)
{
	const struct skill_entry *upper = listing_find(l, skill_files[0]),
				 *lower = listing_find(l, skill_files[1]);
	const struct skill_entry *e = upper ? upper : lower;

	if (!e)
		skill_note(l->r, SKILL_FATAL, "SKILL_FILE_MISSING", AT_PATH(skill_files[0]),
			   "there is no SKILL.md in the skill's directory");
	else if (e->type != SKILL_ENTRY_FILE)
		skill_note(l->r, SKILL_FATAL, "SKILL_FILE_TYPE", AT_PATH(e->path),
			   "it is not a regular file");
	if (upper && lower)
		skill_note(l->r, SKILL_ERROR, "SKILL_FILE_TWICE", AT_PATH(lower->path),
			   "SKILL.md is there too, and is the one that is read");
	else if (lower)
		skill_note(l->r, SKILL_WARNING, "SKILL_FILE_LOWERCASE", AT_PATH(lower->path),
			   "most harnesses look for SKILL.md only");
}

/* --- the whole ----------------------------------------------------------------------------------------- */

/* Directories count neither as files nor as bytes. */
static void listing_check_sizes(const struct skill_limits *limits, struct skill_report *r)
{
	if (r->files > limits->files)
		skill_note(r, SKILL_FATAL, "TOO_MANY_FILES",
			   AT_LIMIT(NULL, limits->files, r->files),
			   "the skill has more than %zu files", (size_t)limits->files);
	if (r->bytes > limits->bytes)
		skill_note(r, SKILL_FATAL, "TOO_LARGE", AT_LIMIT(NULL, limits->bytes, r->bytes),
			   "the skill has more than %zu bytes", (size_t)limits->bytes);
}

void skill_check_listing(const struct skill_entry *entries, size_t n,
			 const struct skill_limits *limits, struct skill_report *r)
{
	_cleanup_(freep) const struct skill_entry **sorted = xalloc(n * sizeof(*sorted));
	struct skill_listing l = { sorted, n, r };

	for (size_t i = 0; i < n; i++) {
		sorted[i] = &entries[i];
		r->files += entries[i].type != SKILL_ENTRY_DIR;
		/* Sizes may come from the headers of an archive, so their sum can overflow. */
		if (entries[i].type == SKILL_ENTRY_FILE &&
		    __builtin_add_overflow(r->bytes, entries[i].size, &r->bytes))
			r->bytes = UINT64_MAX;
	}
	qsort(sorted, n, sizeof(*sorted), listing_by_path);
	listing_check_skill_file(&l);
	listing_check_sizes(limits, r);
	for (size_t i = 0; i < n; i++)
		listing_check_entry(&l, sorted[i]);
}

/* --- on disk --------------------------------------------------------------------------------------------- */

struct skill_walk {
	struct skill_entry *entries;
	size_t n, names, max;
	bool stopped; /* more names, or deeper, than the limits */
	struct skill_report *r;
	struct err *e;
};

static void skill_walk_done(struct skill_walk *w)
{
	for (size_t i = 0; i < w->n; i++)
		free_each(w->entries[i].path, w->entries[i].target);
	free(w->entries);
}

static int skill_trouble(struct skill_walk *w, const char *path, int r)
{
	return err_set(w->e, r, RPC_INTERNAL_ERROR, "IO", "'%.150s' of the skill: %s",
		       *path ? path : ".", strerror(-r));
}

static char *skill_read_target(int dir, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n < 0 ? NULL : xstrndup(target, (size_t)n);
}

/* All names of a directory are read before the first is visited, so they are counted here. */
static int skill_want(void *ctx, const char *name _unused_)
{
	struct skill_walk *w = ctx;

	w->stopped = ++w->names > w->max;
	return w->stopped ? -E2BIG : 1;
}

static int skill_too_deep(struct skill_walk *w, const struct tree_entry *e)
{
	w->stopped = true;
	skill_note(w->r, SKILL_FATAL, "TOO_DEEP", AT_LIMIT(e->path, SKILL_TREE_DEPTH, e->depth),
		   "directories lie deeper than %d levels", SKILL_TREE_DEPTH);
	return -ELOOP;
}

static int skill_visit_entry(void *ctx, const struct tree_entry *e)
{
	struct skill_walk *w = ctx;
	struct skill_entry *entry = GROW(w->entries, w->n);

	entry->path = xstrdup(e->path);
	entry->size = (uint64_t)e->sb.st_size;
	entry->mode = e->sb.st_mode & 07777;
	entry->type = S_ISREG(e->sb.st_mode) ? SKILL_ENTRY_FILE :
		      S_ISDIR(e->sb.st_mode) ? SKILL_ENTRY_DIR :
		      S_ISLNK(e->sb.st_mode) ? SKILL_ENTRY_SYMLINK :
					       SKILL_ENTRY_OTHER;
	if (entry->type == SKILL_ENTRY_SYMLINK) {
		entry->target = skill_read_target(e->dir, e->leaf);
		if (!entry->target)
			return skill_trouble(w, e->path, -errno);
	}
	return entry->type == SKILL_ENTRY_DIR && e->depth > SKILL_TREE_DEPTH ?
		       skill_too_deep(w, e) :
		       0;
}

static int skill_on_trouble(void *ctx, const struct tree_entry *e, enum walk_trouble what _unused_,
			    int error)
{
	struct skill_walk *w = ctx;

	return w->stopped ? error : skill_trouble(w, e->path, error);
}

/* The first name that is a file; NULL: the listing has reported what is wrong. */
static const char *skill_find_file(const struct skill_walk *w)
{
	for (size_t k = 0; k < ARRAY_SIZE(skill_files); k++)
		for (size_t i = 0; i < w->n; i++)
			if (strcmp(w->entries[i].path, skill_files[k]) == 0)
				return w->entries[i].type == SKILL_ENTRY_FILE ? skill_files[k] :
										NULL;
	return NULL;
}

static int skill_check_found_file(struct skill_walk *w, int dirfd, const char *dir)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(closep) int fd = -1;
	const char *name = skill_find_file(w);
	int r;

	if (!name)
		return 0;
	/* O_NONBLOCK: a FIFO that replaced the file must not block the open. */
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	/* one byte more than is allowed, for the finding */
	r = fd < 0 ? -errno : file_read_fd(fd, SKILL_FILE_MAX, &b);
	if (r == -E2BIG)
		skill_note(w->r, SKILL_FATAL, "FILE_TOO_LARGE",
			   AT_LIMIT(name, SKILL_FILE_MAX, SKILL_FILE_MAX + 1),
			   "the file has more than %lu bytes", SKILL_FILE_MAX);
	else if (r < 0)
		return skill_trouble(w, name, r);
	else
		skill_check_file(buf_slice(&b), dir, w->r);
	return 0;
}

int skill_check_dir(int dirfd, const char *dir, const struct skill_limits *limits,
		    struct skill_report *r, struct err *e)
{
	static const struct walk_calls calls = { .want = skill_want,
						 .visit = skill_visit_entry,
						 .trouble = skill_on_trouble };
	_cleanup_(skill_walk_done) struct skill_walk w = { .r = r, .e = e };
	int res;

	/* directories are not counted as files, but are work all the same */
	w.max = 2 * limits->files + 64;
	res = tree_walker_run(dirfd, "", &calls, &w);
	if (res < 0 && !w.stopped)
		return res;
	if (w.names > w.max)
		skill_note(r, SKILL_FATAL, "TOO_MANY_FILES", AT_LIMIT(NULL, w.max, w.names),
			   "the skill has more than %zu files and directories", w.max);
	/* the rules apply to a whole directory only */
	if (w.stopped)
		return 0;
	skill_check_listing(w.entries, w.n, limits, r);
	return skill_check_found_file(&w, dirfd, dir);
}
