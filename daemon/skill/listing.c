/* listing.c - the rules over the whole directory of a skill, from the names, types and sizes of what is in it. */
#include "skill/skill_internal.h"

#include <stdio.h>

#define PATH_MAX_BYTES 4096

struct skill_listing {
	const struct skill_entry **sorted; /* by path */
	size_t n;
	struct skill_report *r;
};

static int compare(const void *a, const void *b)
{
	return strcmp((*(const struct skill_entry *const *)a)->path,
		      (*(const struct skill_entry *const *)b)->path);
}

static const struct skill_entry *find(const struct skill_listing *l, const char *path)
{
	const struct skill_entry key = { .path = (char *)(uintptr_t)path }, *k = &key;
	const struct skill_entry **at = bsearch(&k, l->sorted, l->n, sizeof(k), compare);

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

static void leave(struct link_path *w)
{
	char *slash = strrchr(w->at, '/');

	*(slash ? slash : w->at) = '\0';
}

/* at names a link: its target is put before the rest of the path. */
static enum link_end follow(struct link_path *w, const struct skill_entry *link)
{
	struct slice target = slice_of(link->target);

	if (++w->hops > SKILL_LINK_HOPS || target.n >= w->pos)
		return LINK_LOOP;
	if (target.n && target.p[0] == '/')
		return LINK_ABSOLUTE;
	w->todo[--w->pos] = '/';
	w->pos -= target.n;
	if (target.n)
		memcpy(w->todo + w->pos, target.p, target.n);
	leave(w);
	return LINK_INSIDE;
}

/* Walks one component of todo; LINK_INSIDE: the walk goes on. */
static enum link_end step(const struct skill_listing *l, struct link_path *w)
{
	const char *next = w->todo + w->pos;
	size_t n = strcspn(next, "/"), have = strlen(w->at);
	char name[PATH_MAX_BYTES];
	const struct skill_entry *e;

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
		leave(w);
		return LINK_INSIDE;
	}
	if (have)
		w->at[have++] = '/';
	memcpy(w->at + have, name, n + 1);
	e = find(l, w->at);
	if (!e)
		return LINK_DANGLING;
	return e->type == SKILL_ENTRY_SYMLINK ? follow(w, e) : LINK_INSIDE;
}

static enum link_end walk_link(const struct skill_listing *l, const struct skill_entry *link)
{
	struct link_path w = { .pos = sizeof(w.todo) - 1 };
	enum link_end end;

	if (strlen(link->path) >= sizeof(w.at))
		return LINK_OUTWARD;
	strcpy(w.at, link->path);
	end = follow(&w, link);
	while (end == LINK_INSIDE && w.todo[w.pos])
		end = step(l, &w);
	return end;
}

static void check_link(const struct skill_listing *l, const struct skill_entry *e)
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
	enum link_end end = walk_link(l, e);

	if (end != LINK_INSIDE)
		skill_note(l->r, rows[end].severity, rows[end].code, AT_PATH(e->path), "%s",
			   rows[end].msg);
}

/* --- single entries ------------------------------------------------------------------------------------ */

static const char *const skill_files[] = { "SKILL.md", "skill.md" };

static bool is_nested_skill(const char *path)
{
	const char *base = strrchr(path, '/');

	return base &&
	       (strcmp(base + 1, skill_files[0]) == 0 || strcmp(base + 1, skill_files[1]) == 0);
}

static void check_entry(const struct skill_listing *l, const struct skill_entry *e)
{
	if (!utf8_valid(slice_of(e->path)))
		skill_note(l->r, SKILL_ERROR, "PATH_NOT_UTF8", AT_PATH(e->path),
			   "the name is not UTF-8");
	if (e->type == SKILL_ENTRY_SYMLINK)
		check_link(l, e);
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

static void check_skill_file(const struct skill_listing *l)
{
	const struct skill_entry *upper = find(l, skill_files[0]), *lower = find(l, skill_files[1]);
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

static void check_sizes(const struct skill_limits *limits, struct skill_report *r)
{
	if (r->files > limits->files)
		skill_note(r, SKILL_FATAL, "TOO_MANY_FILES",
			   (struct skill_at){
				   .has_limit = true, .limit = limits->files, .used = r->files },
			   "the skill has more than %zu files", (size_t)limits->files);
	if (r->bytes > limits->bytes)
		skill_note(r, SKILL_FATAL, "TOO_LARGE",
			   (struct skill_at){
				   .has_limit = true, .limit = limits->bytes, .used = r->bytes },
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
		if (entries[i].type == SKILL_ENTRY_FILE &&
		    __builtin_add_overflow(r->bytes, entries[i].size, &r->bytes))
			r->bytes = UINT64_MAX;
	}
	qsort(sorted, n, sizeof(*sorted), compare);
	check_skill_file(&l);
	check_sizes(limits, r);
	for (size_t i = 0; i < n; i++)
		check_entry(&l, sorted[i]);
}
