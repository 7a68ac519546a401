#include "commit_rig.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "tree/held_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct word {
	char path[PATH_BYTES_MAX];
	char type;
	mode_t mode;
	const char *content;
	size_t n;
	unsigned mark;
};

static bool next_word(const char **words, struct word *w)
{
	const char *p = *words + strspn(*words, " "), *end = p + strcspn(p, " ");
	size_t n;

	*words = end;
	if (p == end)
		return false;
	*w = (struct word){ .mark = *p == '!' ? MARK_OVERWRITE :
				    *p == '?' ? MARK_KEEP_EXISTING :
				    *p == '~' ? MARK_KEEP_FOREIGN :
						0 };
	p += w->mark != 0;
	n = strcspn(p, ":=>| ");
	snprintf(w->path, sizeof(w->path), "%.*s", (int)n, p);
	w->type = p[n] == '|' ? 'p' : p[n] == '>' ? 'l' : w->path[n - 1] == '/' ? 'd' : 'f';
	w->path[w->type == 'd' || w->type == 'l' ? n - 1 : n] = '\0';
	p += n;
	w->mode = w->type == 'd' ? 0755 : w->type == 'l' ? 0777 : 0644;
	if (*p == ':')
		w->mode = (mode_t)strtoul(p + 1, (char **)(uintptr_t)&p, 8);
	w->content = p < end ? p + 1 : end;
	w->n = (size_t)(end - w->content);
	return true;
}

static void build_word(struct held *h, const struct word *w)
{
	_cleanup_(freep) char *dir = xstrdup(w->path);
	_cleanup_(freep) char *text = xstrndup(w->content, w->n);
	char *slash = strrchr(dir, '/');
	const char *leaf;
	int at, fd;

	*(slash ? slash : dir) = '\0';
	for (char *p = dir; *dir && (p = strchrnul(p, '/')); p += *p != '\0') {
		char was = *p;

		*p = '\0';
		at = held_parent(h, dir, &leaf);
		mkdirat(at, leaf, 0755);
		*p = was;
		if (!was)
			break;
	}
	at = held_parent(h, w->path, &leaf);
	assert_true(at >= 0);
	if (w->type == 'd')
		assert_true(mkdirat(at, leaf, w->mode) == 0 || fchmodat(at, leaf, w->mode, 0) == 0);
	else if (w->type == 'l')
		assert_int_equal(symlinkat(text, at, leaf), 0);
	else if (w->type == 'p')
		assert_int_equal(mkfifoat(at, leaf, w->mode), 0);
	else {
		fd = openat(at, leaf, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
		assert_true(fd >= 0 && fchmod(fd, w->mode) == 0);
		assert_int_equal(file_write_all(fd, text, w->n), 0);
		close(fd);
	}
}

void rig_build(int dir, const char *words)
{
	mode_t mask = umask(0);
	struct held h;
	struct word w;

	held_init(&h, dir);
	while (next_word(&words, &w))
		build_word(&h, &w);
	held_done(&h);
	umask(mask);
}

void rig_manifest(struct manifest *m, const char *words)
{
	struct word w;

	manifest_init(m, UNPACK_ENTRIES_MAX);
	while (next_word(&words, &w)) {
		bool existed;
		int64_t i = manifest_put(m, w.path, &existed);
		struct node *v = &m->v[i];

		assert_true(i > 0 && !(existed && w.type != 'd'));
		v->type = (uint8_t)w.type;
		v->mode = (uint16_t)w.mode;
		v->implied = 0;
		v->mark = w.mark & 15;
		v->size = w.type == 'd' ? 0 : w.n;
		if (w.type != 'd')
			sha256_of((struct slice){ w.content, w.n }, &v->digest);
		if (w.type == 'l')
			manifest_set_target(m, (uint32_t)i, (struct slice){ w.content, w.n });
	}
}

/* --- as text ------------------------------------------------------------------------------------------ */

static void dump_entry(int dir, const char *name, const char *path, struct buf *out);

static int no_stage(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
	       strncmp(e->d_name, ".acpd-stage-", 12) != 0;
}

static void dump_dir(int dir, const char *path, struct buf *out)
{
	struct dirent **names;
	int n = scandirat(dir, ".", &names, no_stage, alphasort);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		_cleanup_(freep) char *full = *path ? file_join(path, names[i]->d_name) :
						      xstrdup(names[i]->d_name);

		dump_entry(dir, names[i]->d_name, full, out);
		free(names[i]);
	}
	free(names);
}

static void dump_mode(struct buf *out, mode_t mode, mode_t usual)
{
	if ((mode & 07777) != usual)
		buf_printf(out, ":%o", mode & 07777);
}

static void dump_file(int dir, const char *name, struct buf *out)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW);

	assert_true(fd >= 0);
	assert_int_equal(file_read_fd(fd, MIB, &text), 0);
	close(fd);
	buf_putc(out, '=');
	buf_add_slice(out, buf_slice(&text));
}

static void dump_entry(int dir, const char *name, const char *path, struct buf *out)
{
	char target[PATH_BYTES_MAX];
	struct stat sb;

	assert_int_equal(fstatat(dir, name, &sb, AT_SYMLINK_NOFOLLOW), 0);
	buf_printf(out, "%s%s", out->len ? " " : "", path);
	if (S_ISDIR(sb.st_mode)) {
		int fd = held_open_dir_at(dir, name);

		buf_putc(out, '/');
		dump_mode(out, sb.st_mode, 0755);
		assert_true(fd >= 0);
		dump_dir(fd, path, out);
		close(fd);
	} else if (S_ISLNK(sb.st_mode)) {
		ssize_t n = readlinkat(dir, name, target, sizeof(target));

		buf_puts(out, "->");
		buf_add(out, target, (size_t)n);
	} else if (S_ISREG(sb.st_mode)) {
		dump_mode(out, sb.st_mode, 0644);
		dump_file(dir, name, out);
	} else {
		buf_putc(out, '|');
	}
}

char *rig_dump(int dir)
{
	struct buf out = { 0 };

	dump_dir(dir, "", &out);
	buf_putc(&out, '\0');
	return out.data;
}

char *rig_lines(const struct manifest *m)
{
	_cleanup_(freep) uint32_t *order = NULL;
	char path[PATH_BYTES_MAX + 1];
	struct buf out = { 0 };
	size_t n;

	order = manifest_order(m, &n);
	for (size_t i = 0; i < n; i++)
		buf_printf(&out, "%s%s%s", i ? " " : "", manifest_path(m, order[i], path),
			   m->v[order[i]].type == NODE_DIR ? "/" : "");
	buf_putc(&out, '\0');
	return out.data;
}

char *rig_skipped(const struct outcome *o)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < o->skipped_total && i < SKIPPED_MAX; i++)
		buf_printf(&out, "%s%s:%s", i ? " " : "", o->skipped[i].path, o->skipped[i].reason);
	buf_putc(&out, '\0');
	return out.data;
}

void rig_reread(struct manifest *m)
{
	struct sha256 digest;
	int fd = memfd_create("manifest", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(manifest_write(m, fd, &digest), 0);
	manifest_done(m);
	manifest_init(m, UNPACK_ENTRIES_MAX);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(manifest_read(m, fd), 0);
	close(fd);
}

/* --- a target ----------------------------------------------------------------------------------------- */

static void open_stage(struct rig *r, const char *new, bool merge)
{
	int tree;

	r->target = open(scratch_path("target"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->target >= 0);
	assert_int_equal(held_remove_at(r->target, RIG_STAGE), 0);
	assert_int_equal(mkdirat(r->target, RIG_STAGE, 0700), 0);
	r->stage = held_open_dir_at(r->target, RIG_STAGE);
	assert_int_equal(mkdirat(r->stage, "tree", 0755), 0);
	tree = held_open_dir_at(r->stage, "tree");
	rig_build(tree, new);
	close(tree);
	rig_manifest(&r->new, new);
	r->c = (struct commit){ .name = "target",
				.target = r->target,
				.stage = r->stage,
				.old = &r->old,
				.staged = &r->new,
				.keep_missing = merge };
}

void rig_open(struct rig *r, const char *old, const char *tree, const char *new, bool merge)
{
	int dir = open(scratch_dir(), O_RDONLY | O_DIRECTORY), fd;

	*r = (struct rig){ 0 };
	assert_int_equal(held_remove_at(dir, "target"), 0);
	assert_int_equal(mkdirat(dir, "target", 0755), 0);
	fd = held_open_dir_at(dir, "target");
	rig_build(fd, tree);
	close(fd);
	close(dir);
	rig_manifest(&r->old, old);
	open_stage(r, new, merge);
}

void rig_open_after(struct rig *r, struct manifest *old, const char *new, bool merge)
{
	*r = (struct rig){ .old = *old };
	*old = (struct manifest){ 0 };
	open_stage(r, new, merge);
}

void rig_close(struct rig *r)
{
	assert_int_equal(held_remove_at(r->target, RIG_STAGE), 0);
	close(r->stage);
	close(r->target);
	manifest_done(&r->old);
	manifest_done(&r->new);
	outcome_done(&r->out);
}
