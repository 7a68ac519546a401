/*
 * tree_manifest.c - the nodes of a manifest in one array, found by a chained hash of parent and
 * name.
 *
 * It is small, since an archive may have UNPACK_ENTRIES_MAX entries: a node has its parent and its own name, never its
 * whole path, and is found by a hash of the two. Node 0 is the root. Numbers of nodes stay valid: nodes are never
 * removed, only marked.
 *
 * Nodes refer to each other by index, because realloc moves the array. Names and targets are
 * NUL-terminated in one buffer. A path has at most one node: put_child reuses one marked gone. The
 * written order is a counting sort of all nodes by parent, then by name within each directory.
 *
 * manifest_path writes into PATH_BYTES_MAX + 1 bytes from the end and checks nothing: paths must
 * pass path_rules.h before they are put, and moves must not lengthen them.
 */
#include "tree/tree_manifest.h"

#include "base/os/file.h"
#include "base/util.h"

#include <sys/auxv.h>

#define FIRST_NODES 256
#define WRITE_PIECE (64 * KIB)

/* --- nodes ------------------------------------------------------------------------------------------- */

static uint32_t manifest_hash(const struct manifest *m, uint32_t parent, struct slice name)
{
	uint64_t h = m->seed ^ parent; /* FNV-1a, but for where it starts */

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3ULL;
	return (uint32_t)(h ^ (h >> 32));
}

static int manifest_add_name(struct manifest *m, struct slice name, uint32_t *ret)
{
	*ret = (uint32_t)m->names.len;
	if (buf_add_slice(&m->names, name) < 0 || buf_putc(&m->names, '\0') < 0)
		return -E2BIG;
	return 0;
}

void manifest_init(struct manifest *m, size_t max)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	*m = (struct manifest){ .max = max, .cap = FIRST_NODES, .nheads = FIRST_NODES };
	if (random) /* 16 bytes that the kernel gives every process */
		memcpy(&m->seed, random, sizeof(m->seed));
	m->v = xalloc(m->cap * sizeof(*m->v));
	m->heads = xalloc(m->nheads * sizeof(*m->heads));
	m->names.max = TREE_MANIFEST_MAX;
	buf_putc(&m->names, '\0');
	m->v[0] = (struct node){ .type = NODE_DIR, .mode = 0755 };
	m->n = 1;
}

void manifest_done(struct manifest *m)
{
	free_each(m->v, m->heads);
	buf_done(&m->names);
	*m = (struct manifest){ 0 };
}

static void manifest_chain(struct manifest *m, uint32_t i)
{
	struct slice name = slice_of(manifest_name(m, i));
	uint32_t *head = &m->heads[manifest_hash(m, m->v[i].parent, name) & (m->nheads - 1)];

	m->v[i].next = *head;
	*head = i + 1;
}

static int manifest_grow(struct manifest *m)
{
	struct node *v;

	if (m->n > m->max)
		return -E2BIG;
	if (m->n < m->cap)
		return 0;
	/* grows by half: its peak while it is copied is the memory that an archive of many entries costs */
	m->cap += m->cap / 2;
	v = realloc(m->v, m->cap * sizeof(*v));
	if (!v)
		abort();
	m->v = v;
	if (m->cap <= m->nheads)
		return 0;
	free(m->heads);
	m->nheads *= 2;
	m->heads = xalloc(m->nheads * sizeof(*m->heads));
	for (uint32_t i = 1; i < m->n; i++)
		manifest_chain(m, i);
	return 0;
}

static int64_t find_child(const struct manifest *m, uint32_t dir, struct slice name)
{
	uint32_t i = m->heads[manifest_hash(m, dir, name) & (m->nheads - 1)];

	for (; i; i = m->v[i - 1].next) {
		const struct node *v = &m->v[i - 1];

		if (v->parent == dir && slice_is(name, m->names.data + v->name))
			return i - 1;
	}
	return -ENOENT;
}

int64_t manifest_child(const struct manifest *m, uint32_t dir, struct slice name)
{
	int64_t i = find_child(m, dir, name);

	return i >= 0 && m->v[i].gone ? -ENOENT : i;
}

/* A node that is gone is used again: a path has at most one, and its name is stored once. */
static int64_t put_child(struct manifest *m, uint32_t dir, struct slice name, bool *existed)
{
	int64_t i = find_child(m, dir, name);
	int r;

	*existed = i >= 0 && !m->v[i].gone;
	if (*existed)
		return i;
	if (i < 0) {
		r = manifest_grow(m);
		if (r < 0)
			return r;
		i = (int64_t)m->n;
		m->v[i] = (struct node){ .parent = dir };
		r = manifest_add_name(m, name, &m->v[i].name);
		if (r < 0)
			return r;
		m->n++;
		manifest_chain(m, (uint32_t)i);
	}
	m->v[i].gone = 0;
	m->v[i].implied = 0;
	m->v[i].shared = 0;
	m->v[i].type = NODE_DIR;
	m->v[i].mode = 0755;
	m->v[i].size = 0;
	return i;
}

int64_t manifest_put(struct manifest *m, const char *path, bool *existed)
{
	size_t left = strlen(path);
	int64_t at = 0;

	if (left > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	for (;;) {
		size_t n = strcspn(path, "/");

		at = put_child(m, (uint32_t)at, (struct slice){ path, n }, existed);
		if (at < 0 || !path[n])
			return at;
		if (!*existed)
			m->v[at].implied = 1;
		else if (m->v[at].type != NODE_DIR)
			return -ENOTDIR;
		path += n + 1;
		left -= n + 1;
		m->v[at].below = MAX(m->v[at].below, (uint16_t)left);
	}
}

/* The root is the node of the empty path. */
int64_t manifest_find(const struct manifest *m, struct slice path)
{
	int64_t at = 0;

	while (at >= 0 && path.n) {
		const char *slash = memchr(path.p, '/', path.n);
		size_t n = slash ? (size_t)(slash - path.p) : path.n;

		at = manifest_child(m, (uint32_t)at, (struct slice){ path.p, n });
		n += slash != NULL;
		path.p += n;
		path.n -= n;
	}
	return at;
}

static void manifest_unchain(struct manifest *m, uint32_t i)
{
	struct slice name = slice_of(manifest_name(m, i));
	uint32_t *at = &m->heads[manifest_hash(m, m->v[i].parent, name) & (m->nheads - 1)];

	while (*at != i + 1)
		at = &m->v[*at - 1].next;
	*at = m->v[i].next;
}

/* 0 for the root. */
static size_t path_length(const struct manifest *m, uint32_t node)
{
	size_t n = 0;

	for (; node; node = m->v[node].parent)
		n += strlen(manifest_name(m, node)) + (m->v[node].parent != 0);
	return n;
}

/* The hash covers parent and name: the node leaves its chain before they change. */
int manifest_move(struct manifest *m, uint32_t node, uint32_t dir, struct slice name)
{
	size_t n = name.n + (m->v[node].below ? m->v[node].below + 1u : 0u);
	uint32_t text;

	if (manifest_child(m, dir, name) >= 0)
		return -EEXIST;
	if (path_length(m, dir) + (dir != 0) + n > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	if (manifest_add_name(m, name, &text) < 0)
		return -E2BIG;
	manifest_unchain(m, node);
	m->v[node].parent = dir;
	m->v[node].name = text;
	manifest_chain(m, node);
	for (; dir; dir = m->v[dir].parent) { /* where it was, below stays: too much is safe */
		m->v[dir].below = MAX(m->v[dir].below, (uint16_t)n);
		n += strlen(manifest_name(m, dir)) + 1;
	}
	return 0;
}

int manifest_set_target(struct manifest *m, uint32_t node, struct slice target)
{
	m->v[node].size = target.n;
	return manifest_add_name(m, target, &m->v[node].target);
}

const char *manifest_target(const struct manifest *m, uint32_t node)
{
	return m->names.data + m->v[node].target;
}

const char *manifest_name(const struct manifest *m, uint32_t node)
{
	return m->names.data + m->v[node].name;
}

char *manifest_path(const struct manifest *m, uint32_t node, char *buf)
{
	/* Every path fits: manifest_put and manifest_move refuse longer ones. */
	char *p = buf + PATH_BYTES_MAX;

	*p = '\0';
	for (; node; node = m->v[node].parent) {
		const char *name = manifest_name(m, node);
		size_t n = strlen(name);

		if (*p)
			*--p = '/';
		p -= n;
		memcpy(p, name, n);
	}
	return p;
}

/* --- in order ---------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct manifest *m = ctx;

	return strcmp(manifest_name(m, *(const uint32_t *)a),
		      manifest_name(m, *(const uint32_t *)b));
}

/* Children of node i are all[first[i]] up to all[first[i + 1]], by name. */
static uint32_t *sort_children(const struct manifest *m, uint32_t *first)
{
	uint32_t *all = xalloc(m->n * sizeof(*all));

	for (size_t i = 1; i < m->n; i++)
		first[m->v[i].parent + 1]++;
	for (size_t i = 1; i <= m->n; i++)
		first[i] += first[i - 1];
	for (size_t i = m->n - 1; i > 0; i--) /* fills each share from its start, see below */
		all[first[m->v[i].parent]++] = (uint32_t)i;
	for (size_t i = m->n; i > 0; i--) /* back to where they begin */
		first[i] = first[i - 1];
	first[0] = 0;
	for (size_t i = 0; i < m->n; i++)
		if (first[i + 1] - first[i] > 1)
			qsort_r(all + first[i], first[i + 1] - first[i], sizeof(*all), by_name,
				(void *)m);
	return all;
}

/* A walk without recursion: up[] is where to go on in the directory above. */
uint32_t *manifest_order(const struct manifest *m, size_t *n)
{
	_cleanup_(freep) uint32_t *first = xalloc((m->n + 2) * sizeof(*first));
	_cleanup_(freep) uint32_t *all = sort_children(m, first);
	_cleanup_(freep) uint32_t *next = xalloc(m->n * sizeof(*next));
	uint32_t *order = xalloc(m->n * sizeof(*order)), at = 0;

	*n = 0;
	memcpy(next, first, m->n * sizeof(*next));
	for (;;) {
		uint32_t child;

		if (next[at] == first[at + 1]) {
			if (!at)
				return order;
			at = m->v[at].parent;
			continue;
		}
		child = all[next[at]++];
		if (m->v[child].gone)
			continue;
		if (!m->v[child].shared)
			order[(*n)++] = child;
		if (m->v[child].type == NODE_DIR)
			at = child;
	}
}

/* --- the written form --------------------------------------------------------------------------------- */

static void manifest_line(const struct manifest *m, uint32_t node, struct buf *out)
{
	char path[PATH_BYTES_MAX + 1], hex[SHA256_HEX] = "-";
	const struct node *v = &m->v[node];

	if (v->type != NODE_DIR)
		sha256_hex(&v->digest, hex);
	buf_printf(out, "%c %04o %llu %s ", v->type, v->mode, (unsigned long long)v->size, hex);
	buf_puts(out, manifest_path(m, node, path));
	if (v->type == NODE_LINK) {
		buf_puts(out, " -> ");
		buf_puts(out, manifest_target(m, node));
	}
	buf_putc(out, '\n');
}

static int manifest_flush(struct buf *b, struct sha256_stream *sum, int fd)
{
	int r = fd < 0 ? 0 : file_write_all(fd, b->data, b->len);

	sha256_add(sum, b->data, b->len);
	buf_reset(b);
	return r;
}

int manifest_write(const struct manifest *m, int fd, struct sha256 *digest)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) uint32_t *order = NULL;
	struct sha256_stream sum;
	size_t n;
	int r = 0;

	order = manifest_order(m, &n);
	sha256_begin(&sum);
	for (size_t i = 0; r == 0 && i < n; i++) {
		manifest_line(m, order[i], &b);
		if (b.len >= WRITE_PIECE)
			r = manifest_flush(&b, &sum, fd);
	}
	if (r == 0)
		r = manifest_flush(&b, &sum, fd);
	sha256_end(&sum, digest);
	return r;
}

static bool manifest_take_number(struct slice s, int base, uint64_t max, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned d = (unsigned char)s.p[i] - (unsigned)'0';

		if (d >= (unsigned)base || *ret > (max - d) / (unsigned)base)
			return false;
		*ret = *ret * (unsigned)base + d;
	}
	return s.n > 0;
}

static int manifest_take_line(struct manifest *m, struct slice line)
{
	struct slice type, mode, size, hex;
	_cleanup_(freep) char *path = NULL;
	const char *arrow = NULL;
	uint64_t bits, bytes;
	bool existed;
	int64_t i;

	if (!slice_cut(&line, ' ', &type) || !slice_cut(&line, ' ', &mode) ||
	    !slice_cut(&line, ' ', &size) || !slice_cut(&line, ' ', &hex) || type.n != 1 ||
	    !strchr("fdl", *type.p) || !manifest_take_number(mode, 8, 0777, &bits) ||
	    !manifest_take_number(size, 10, INT64_MAX, &bytes) || !line.n ||
	    line.n > 2 * PATH_BYTES_MAX + 4)
		return -EBADMSG;
	if (*type.p == NODE_LINK) {
		/* the target's length is known, so that " -> " in a name is not ambiguous */
		if (line.n < bytes + 4 || memcmp(line.p + line.n - bytes - 4, " -> ", 4) != 0)
			return -EBADMSG;
		arrow = line.p + line.n - bytes - 4;
	}
	path = xstrndup(line.p, arrow ? (size_t)(arrow - line.p) : line.n);
	i = manifest_put(m, path, &existed);
	if (i < 0 || existed)
		return i < 0 ? (int)i : -EBADMSG;
	m->v[i].type = (uint8_t)*type.p;
	m->v[i].mode = (uint16_t)bits;
	m->v[i].size = bytes;
	if (*type.p != NODE_DIR && sha256_from_hex(hex, &m->v[i].digest) < 0)
		return -EBADMSG;
	return arrow ? manifest_set_target(m, (uint32_t)i, (struct slice){ arrow + 4, bytes }) : 0;
}

/* Read in pieces: the text may be as long as TREE_MANIFEST_MAX. A last line without a newline is a torn file. */
int manifest_read(struct manifest *m, int fd)
{
	_cleanup_(buf_done) struct buf b = { .max = TREE_MANIFEST_MAX };
	int r = 0;

	for (;;) {
		struct slice have = buf_slice(&b), line;
		ssize_t got;

		if (slice_cut(&have, '\n', &line)) {
			r = manifest_take_line(m, line);
			if (r < 0)
				return r;
			buf_consume(&b, line.n + 1);
			continue;
		}
		if (have.n > 4 * PATH_BYTES_MAX || buf_reserve(&b, WRITE_PIECE) < 0)
			return -EBADMSG;
		got = RETRY(read(fd, b.data + b.len, WRITE_PIECE));
		if (got < 0)
			return -errno;
		if (got == 0)
			return buf_len(&b) ? -EBADMSG : 0;
		b.len += (size_t)got;
	}
}
