/*
 * skill_install.c - stages skills under temporary names, checks them on disk, and renames each to
 * its own name.
 *
 * A source may be one skill (SKILL.md at its root, or in its only directory) or several, a directory each; nothing
 * else may be in it. A skill that cannot be used is SKILL_INVALID with its first fatal finding; what is only wrong is
 * listed in the report. Skills replace those of the same name as a whole; all others in the target stay, but those that
 * the job names to be removed.
 *
 * A skill's name is in its frontmatter, which can be read only after it was staged. So every source
 * is first unpacked below ".incoming-N"; the leading dot cannot collide with a skill. The manifest
 * is changed together with each rename, since the commit finds staged files by the manifest's
 * paths.
 */
#include "unpack/extract/skill_install.h"

#include "base/util.h"

#include "skill/skill.h"

#include <fcntl.h>

#define COPY_PIECE (64 * KIB)

/* A dot: no skill has such a name. */
void skills_aside(size_t i, char into[SKILL_ASIDE_SIZE])
{
	snprintf(into, SKILL_ASIDE_SIZE, ".incoming-%zu", i);
}

/* --- a directory as a source ------------------------------------------------------------------------------ */

static int skill_copy_bytes(struct plan *p, int fd, uint64_t size)
{
	char piece[COPY_PIECE];

	while (size) {
		ssize_t n = RETRY(read(fd, piece, (size_t)MIN(size, (uint64_t)sizeof(piece))));
		int r;

		if (n <= 0)
			return fail_with(p->v, n < 0 ? -errno : -ESTALE, NULL,
					 "a skill changed while it was read");
		r = plan_data(p, piece, (size_t)n);
		if (r < 0)
			return r;
		size -= (uint64_t)n;
	}
	return plan_end(p);
}

static int copy_file(struct plan *p, struct source_entry *e, int dir, const char *leaf)
{
	_cleanup_(closep) int fd =
		openat(dir, leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;
	int r;

	if (fd < 0 || fstat(fd, &sb) < 0)
		return fail_with(p->v, -errno, leaf, "reading a skill");
	e->size = (uint64_t)sb.st_size;
	r = plan_entry(p, e);
	return r == 0 ? skill_copy_bytes(p, fd, e->size) : r;
}

static int skill_visit(void *ctx, const char *path, int dir, const char *leaf,
		       const struct stat *sb)
{
	struct plan *p = ctx;
	char target[PATH_BYTES_MAX];
	struct source_entry e = { .path = slice_of(path),
				  .mode = sb->st_mode & 07777,
				  .mtime = sb->st_mtime };
	ssize_t n;

	if (S_ISREG(sb->st_mode))
		return copy_file(p, &e, dir, leaf);
	e.type = S_ISDIR(sb->st_mode)  ? ENTRY_DIR :
		 S_ISLNK(sb->st_mode)  ? ENTRY_SYMLINK :
		 S_ISFIFO(sb->st_mode) ? ENTRY_FIFO :
		 S_ISSOCK(sb->st_mode) ? ENTRY_SOCKET :
					 ENTRY_DEVICE;
	if (e.type == ENTRY_SYMLINK) {
		n = readlinkat(dir, leaf, target, sizeof(target));
		if (n < 0)
			return fail_with(p->v, -errno, leaf, "reading a skill");
		e.link = (struct slice){ target, (size_t)n };
	}
	return plan_entry(p, &e);
}

int skills_copy(struct plan *p, int dir)
{
	int r = held_walk(dir, skill_visit, p);

	/* a walk that fails by itself has no verdict yet */
	return r < 0 && p->v->kind == VERDICT_NONE ? fail_with(p->v, r, NULL, "reading a skill") :
						     r;
}

/* --- checking and moving ------------------------------------------------------------------------------------- */

static bool is_good_name(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n && n <= SKILL_NAME_MAX && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static int refuse_unusable(struct plan *p, const struct skill_report *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->findings[i].severity == SKILL_FATAL)
			return refuse(p->v, "SKILL_INVALID", path, "%s: %s", r->findings[i].code,
				      r->findings[i].message);
	return refuse(p->v, "SKILL_INVALID", path, "the skill cannot be used");
}

static bool skills_know(const struct skills *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->names[i], name) == 0)
			return true;
	return false;
}

static void skills_add_name(struct skills *s, const char *name)
{
	*GROW(s->names, s->n) = xstrdup(name);
}

static int skill_move(struct skills *s, struct plan *p, int tree, uint32_t node, const char *name)
{
	char path[PATH_BYTES_MAX + 1];
	const char *from = manifest_path(&p->m, node, path);
	int r;

	if (skills_know(s, name))
		return refuse(p->v, "NAME_COLLISION", name, "two skills have this name");
	if (renameat(tree, from, tree, name) < 0)
		return fail_with(p->v, -errno, name, "placing a skill");
	r = manifest_move(
		&p->m, node, 0,
		slice_of(name)); /* the name may be longer than the one it was unpacked as */
	if (r == -ENAMETOOLONG)
		return refuse(p->v, "PATH_TOO_LONG", name, "a path in the skill exceeds %d bytes",
			      PATH_BYTES_MAX);
	if (r < 0)
		return fail_with(p->v, r, name, "placing a skill");
	skills_add_name(s, name);
	return 0;
}

/* dir_name: its name in the source; NULL: its root. */
static int place_one(struct skills *s, struct plan *p, int tree, uint32_t node,
		     const char *dir_name)
{
	_cleanup_(skill_report_done) struct skill_report r;
	char path[PATH_BYTES_MAX + 1];
	const char *from = manifest_path(&p->m, node, path), *name;
	_cleanup_(closep) int dir =
		openat(tree, from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct jw w = JW(&s->report);
	struct err e;
	int ret;

	skill_report_init(&r);
	if (dir < 0)
		return fail_with(p->v, -errno, dir_name, "checking a skill");
	if (skill_check_dir(dir, dir_name, &SKILL_LIMITS_DEFAULT, &r, &e) < 0)
		return fail_as(p->v, e.reason, dir_name, "%s", e.msg);
	if (!r.usable)
		return refuse_unusable(p, &r, dir_name ? dir_name : "SKILL.md");
	name = is_good_name(r.skill.name) ? r.skill.name : dir_name;
	if (!is_good_name(name))
		return refuse(p->v, "SKILL_INVALID", dir_name ? dir_name : "SKILL.md",
			      "the skill has no name that a directory can have");
	ret = skill_move(s, p, tree, node, name);
	if (ret < 0)
		return ret;
	w.comma = buf_len(&s->report) > 0;
	jw_obj(&w, NULL);
	jw_str(&w, "installedAs", name);
	skill_report_put(&r, &w);
	jw_end_obj(&w);
	return 0;
}

static bool has_skill_file(const struct manifest *m, uint32_t dir)
{
	return m->v[dir].type == NODE_DIR && (manifest_child(m, dir, SLICE("SKILL.md")) >= 0 ||
					      manifest_child(m, dir, SLICE("skill.md")) >= 0);
}

static int place_children(struct skills *s, struct plan *p, int tree, uint32_t root)
{
	size_t found = 0, before = p->m.n;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < before; i++) {
		_cleanup_(freep) char *name = NULL;

		if (p->m.v[i].parent != root || p->m.v[i].gone)
			continue;
		name = xstrdup(manifest_name(&p->m, i));
		if (!has_skill_file(&p->m, i))
			return refuse(
				p->v, "SKILL_INVALID", name,
				"neither a skill nor part of one: a source of skills has "
				"SKILL.md at its root, or a directory with one for each skill");
		r = place_one(s, p, tree, i, name);
		found++;
	}
	if (r == 0 && !found)
		return refuse(p->v, "SKILL_INVALID", "SKILL.md", "the source is empty");
	return r;
}

static int place_source(struct skills *s, struct plan *p, int tree, size_t i)
{
	char aside[SKILL_ASIDE_SIZE];
	int64_t root;
	int r;

	skills_aside(i, aside);
	root = manifest_find(&p->m, slice_of(aside));
	if (root < 0)
		return refuse(p->v, "SKILL_INVALID", "SKILL.md", "the source is empty");
	if (has_skill_file(&p->m, (uint32_t)root))
		return place_one(s, p, tree, (uint32_t)root, NULL);
	r = place_children(s, p, tree, (uint32_t)root);
	if (r < 0)
		return r;
	p->m.v[root].gone = 1;
	return unlinkat(tree, aside, AT_REMOVEDIR) < 0 ?
		       fail_with(p->v, -errno, NULL, "placing skills") :
		       0;
}

int skills_install(struct skills *s, struct plan *p, int tree, const struct unpack_job *job)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < job->n; i++)
		r = place_source(s, p, tree, i);
	for (size_t i = 0; r == 0 && i < job->nremove; i++)
		if (!skills_know(s, job->remove[i]))
			skills_add_name(s, job->remove[i]);
	return r;
}

bool skills_keep(void *ctx, const char *path)
{
	const struct skills *s = ctx;
	size_t n = strcspn(path, "/");

	for (size_t i = 0; i < s->n; i++)
		if (strlen(s->names[i]) == n && memcmp(s->names[i], path, n) == 0)
			return false;
	return true;
}
