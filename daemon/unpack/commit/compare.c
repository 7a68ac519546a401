/*
 * compare.c - stat data and digest of an entry in an untrusted tree, for comparison with a
 * manifest.
 *
 * Reads what is at a path of a tree, and compares it with a manifest. It uses held_tree.h only, so that it
 * never leaves the tree. It opens only regular files, and reads no more of one than its size before.
 *
 * Hashing is lazy: type, mode and size are compared first, and the digest is computed once per
 * entry. A file whose stat data change during the read has no digest, and compares unequal to
 * everything. Static buffers are safe, because the worker uses this file on one thread only.
 */
#include "unpack/commit/merge.h"

#include "base/os/sparse_file.h"

#define READ_BYTES (128 * KIB)

int seen_type(mode_t mode)
{
	if (!mode)
		return SEEN_NOTHING;
	if (S_ISREG(mode))
		return NODE_FILE;
	if (S_ISDIR(mode))
		return NODE_DIR;
	return S_ISLNK(mode) ? NODE_LINK : SEEN_OTHER;
}

int seen_look(struct held *h, const char *path, struct seen *s)
{
	struct stat sb;
	int r = held_stat(h, path, &sb);

	*s = (struct seen){ 0 };
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r == -ENOTDIR || r == -ELOOP || r == -EXDEV ? 1 : r;
	s->type = seen_type(sb.st_mode);
	stamp_of(&sb, &s->id);
	return 0;
}

/* Others may be writing to it: reads no more than its size, and its stat data at the end must be those of before. */
static bool seen_hash_file(int fd, const struct stamp *id, struct sha256 *digest)
{
	static unsigned char bytes[READ_BYTES];
	struct sparse_reader file;
	struct sha256_stream sum;
	struct stamp after;
	struct stat sb;
	ssize_t got;

	sha256_begin(&sum);
	sparse_reader_begin(&file, fd, id->size);
	while ((got = sparse_read(&file, bytes, sizeof(bytes))) > 0)
		sha256_add(&sum, bytes, (size_t)got);
	sha256_end(&sum, digest);
	if (got < 0 || file.at < id->size || fstat(fd, &sb) < 0)
		return false;
	stamp_of(&sb, &after);
	return memcmp(&after, id, sizeof(after)) == 0;
}

static bool seen_hash(struct held *h, const char *path, struct seen *s)
{
	_cleanup_(closep) int fd = -1;

	if (s->hashed || s->unreadable)
		return s->hashed;
	fd = held_open(h, path, NULL);
	s->hashed = fd >= 0 && seen_hash_file(fd, &s->id, &s->digest);
	s->unreadable = !s->hashed;
	return s->hashed;
}

static bool same_link(struct held *h, const char *path, const char *want, size_t size)
{
	char text[PATH_BYTES_MAX + 1];
	ssize_t n = held_readlink(h, path, text, sizeof(text));

	return n >= 0 && (size_t)n == size && memcmp(text, want, size) == 0;
}

bool seen_digest(struct held *h, const char *path, struct seen *s)
{
	char text[PATH_BYTES_MAX + 1];
	ssize_t n;

	if (s->type != NODE_LINK)
		return s->type == NODE_FILE && seen_hash(h, path, s);
	n = held_readlink(h, path, text, sizeof(text));
	s->hashed = n >= 0 && n <= PATH_BYTES_MAX &&
		    sha256_of((struct slice){ text, (size_t)n }, &s->digest) == 0;
	return s->hashed;
}

bool seen_same(struct held *h, const char *path, struct seen *s, const struct manifest *m,
	       uint32_t node)
{
	const struct node *v = &m->v[node];

	if (s->type != v->type)
		return false;
	if (v->type == NODE_DIR)
		return true;
	if (v->type == NODE_LINK)
		return same_link(h, path, manifest_target(m, node), v->size);
	return s->id.size == v->size && (s->id.mode & 07777) == v->mode && seen_hash(h, path, s) &&
	       sha256_equal(&s->digest, &v->digest);
}

bool nodes_same(const struct manifest *ma, uint32_t a, const struct manifest *mb, uint32_t b)
{
	const struct node *x = &ma->v[a], *y = &mb->v[b];

	if (x->type != y->type || x->mode != y->mode || x->size != y->size)
		return false;
	if (x->type == NODE_LINK)
		return strcmp(manifest_target(ma, a), manifest_target(mb, b)) == 0;
	return x->type == NODE_DIR || sha256_equal(&x->digest, &y->digest);
}
