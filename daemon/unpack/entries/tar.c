/*
 * tar.c - reads tar headers and passes entries to the plan, block by block.
 *
 * Reads a tar: v7, ustar, pax, GNU long names, sparse files in GNU's four forms.
 *
 * It is a reader of our own because a reader that mends faults cannot be made to refuse them: libarchive's ends a pax
 * path at a NUL, reads a size of "3x" as 3, guesses whether a hard link has data, and ends at one block of zeros
 * whatever follows. This one requires that every header has a correct checksum, that numbers are numbers, and that only
 * zeros follow the blocks of zeros at the end; an archive without such an end is truncated. What two readers might
 * understand differently (both a pax path and a GNU long name, data after a link or a directory) is refused.
 *
 * Skipped: pax global headers, volume labels, owners, all attributes. Any other type that is no file, directory or link
 * is refused with its reason.
 *
 * Headers that precede an entry (pax, GNU long names) are stored until the entry arrives, and apply
 * to it alone. Two sources for the same name are refused: readers differ in which one wins. The
 * size decides where the next header is, so the effective size (pax before octal) is also the one
 * that is skipped.
 *
 * Hashing runs on a second thread. Its buffers must be released before the source closes, so
 * tar_read detaches the sums from plan and source first.
 */
#include "unpack/entries/tar_internal.h"

/* Refuses with the name in the current block. */
static int tar_damaged(struct tar *t, const char *what)
{
	_cleanup_(freep) char *name = xstrndup((char *)t->block + OFF_NAME,
					       strnlen((char *)t->block + OFF_NAME, NAME_WIDTH));

	return refuse(t->v, "ARCHIVE_DAMAGED", name, "%s", what);
}

/* --- numbers --------------------------------------------------------------------------------------------- */

enum number { NUMBER_GOOD, NUMBER_BAD, NUMBER_LARGE };

/* GNU's form for numbers that octal digits cannot hold: two's complement below the first bit. */
static enum number base256(const uint8_t *p, size_t n, int64_t *ret)
{
	bool negative = p[0] & 0x40;
	uint64_t v = negative ? UINT64_MAX : 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t c = i ? p[i] : (uint8_t)(negative ? p[0] | 0x80 : p[0] & 0x7f);

		if ((int64_t)v > INT64_MAX >> 8 || (int64_t)v < INT64_MIN >> 8)
			return NUMBER_LARGE;
		v = v << 8 | c;
	}
	*ret = (int64_t)v;
	return NUMBER_GOOD;
}

static enum number tar_number(const uint8_t *p, size_t n, int64_t *ret)
{
	size_t i = 0;

	*ret = 0;
	if (p[0] & 0x80)
		return base256(p, n, ret);
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		*ret = *ret * 8 + (p[i] - '0'); /* twelve digits at most */
	for (; i < n; i++)
		if (p[i] != ' ' && p[i] != '\0')
			return NUMBER_BAD;
	return NUMBER_GOOD;
}

int tar_size_field(struct tar *t, size_t at, uint64_t *ret)
{
	int64_t n;
	enum number how = tar_number(t->block + at, NUMBER_WIDTH, &n);

	if (how == NUMBER_LARGE)
		return refuse_over(t->v, "FILE_TOO_LARGE", NULL, t->plan->limits->file_bytes,
				   INT64_MAX, "bytes of one file, or more");
	if (how == NUMBER_BAD || n < 0)
		return tar_damaged(t, "a size in a header is not a number, or negative");
	*ret = (uint64_t)n;
	return 0;
}

/* --- what stands before an entry ---------------------------------------------------------------------- */

static uint64_t padding(uint64_t n)
{
	return -n % BLOCK;
}

/* The data of an extended header, which is appended to text. */
static int tar_read_text(struct tar *t, uint64_t n, struct buf *text)
{
	ssize_t got;

	if (n > UNPACK_HEADER_MAX)
		return refuse_over(t->v, "HEADER_TOO_LARGE", NULL, UNPACK_HEADER_MAX, n,
				   "bytes of an extended header");
	if (buf_reserve(text, n) < 0)
		return fail_with(t->v, -ENOMEM, NULL, "reading a header");
	got = source_read(t->src, text->data + text->len, n);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got < n)
		return refuse(t->v, "ARCHIVE_TRUNCATED", NULL, "the archive ends within a header");
	text->len += n;
	return source_skip(t->src, padding(n));
}

static int read_long(struct tar *t, uint64_t n, struct buf *text, bool *has)
{
	int r;

	if (*has)
		return tar_damaged(t, "two long names for one entry");
	*has = true;
	buf_reset(text);
	r = tar_read_text(t, n, text);
	while (r == 0 && text->len && text->data[text->len - 1] == '\0')
		text->len--;
	return r;
}

static int read_pax(struct tar *t, uint64_t n)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	int r;

	if (t->has_pax)
		return tar_damaged(t, "two pax headers for one entry");
	t->has_pax = true;
	r = tar_read_text(t, n, &text);
	return r < 0 ? r : pax_records(&t->pax, buf_slice(&text), t->v);
}

/* 1: the header was one that precedes an entry, and is read. */
static int tar_read_before(struct tar *t)
{
	uint8_t type = t->block[OFF_TYPE];
	uint64_t n;
	int r;

	if (!strchr("xXgLKV", type) || !type)
		return 0;
	r = tar_size_field(t, OFF_SIZE, &n);
	if (r < 0)
		return r;
	if (type == 'x' || type == 'X')
		r = read_pax(t, n);
	else if (type == 'L')
		r = read_long(t, n, &t->name, &t->has_long);
	else if (type == 'K')
		r = read_long(t, n, &t->link, &t->has_long_link);
	else if (n > UNPACK_HEADER_MAX)
		r = refuse_over(t->v, "HEADER_TOO_LARGE", NULL, UNPACK_HEADER_MAX, n,
				"bytes of a global header");
	else
		r = source_skip(t->src, n + padding(n));
	return r < 0 ? r : 1;
}

/* --- an entry's facts ---------------------------------------------------------------------------------- */

static void tar_add_field(struct tar *t, struct buf *to, size_t at, size_t width)
{
	buf_add(to, t->block + at, strnlen((char *)t->block + at, width));
}

/* The magic decides about the prefix: in a v7 header these bytes are padding with any contents. */
static int take_names(struct tar *t, struct source_entry *e)
{
	struct pax *p = &t->pax;

	if ((t->has_long && p->has_path) || (t->has_long_link && p->has_link))
		return tar_damaged(t, "a pax header and a GNU long name for one entry");
	if (!t->has_long) {
		buf_reset(&t->name);
		if (memcmp(t->block + OFF_MAGIC, "ustar\0", 6) == 0 && t->block[OFF_PREFIX]) {
			tar_add_field(t, &t->name, OFF_PREFIX, PREFIX_WIDTH);
			buf_putc(&t->name, '/');
		}
		tar_add_field(t, &t->name, OFF_NAME, NAME_WIDTH);
	}
	if (!t->has_long_link) {
		buf_reset(&t->link);
		tar_add_field(t, &t->link, OFF_LINK, NAME_WIDTH);
	}
	e->path = p->has_name ? buf_slice(&p->sparse_name) :
		  p->has_path ? buf_slice(&p->path) :
				buf_slice(&t->name);
	e->link = p->has_link ? buf_slice(&p->link) : buf_slice(&t->link);
	return 0;
}

static const struct {
	char flag;
	enum source_entry_type type;
} types[] = {
	{ '0', ENTRY_FILE },	 { '\0', ENTRY_FILE },	 { '7', ENTRY_FILE }, { 'S', ENTRY_FILE },
	{ '1', ENTRY_HARDLINK }, { '2', ENTRY_SYMLINK }, { '5', ENTRY_DIR },  { '3', ENTRY_DEVICE },
	{ '4', ENTRY_DEVICE },	 { '6', ENTRY_FIFO },
};

static int tar_take_type(struct tar *t, struct source_entry *e)
{
	char flag = (char)t->block[OFF_TYPE];

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (types[i].flag != flag)
			continue;
		e->type = types[i].type;
		/* old archives have no type for directories, and some programs still write so */
		if (e->type == ENTRY_FILE && e->path.n && e->path.p[e->path.n - 1] == '/')
			e->type = ENTRY_DIR;
		return 0;
	}
	return refuse(t->v, "METHOD_UNSUPPORTED", NULL, "a tar entry of the unknown type 0x%02x",
		      (unsigned char)flag);
}

/* The size of the header counts also where pax has one: it must be a number, or the header is damaged. */
static int take_facts(struct tar *t, struct source_entry *e)
{
	int64_t mode;
	int r = tar_size_field(t, OFF_SIZE, &e->size);

	if (r < 0)
		return r;
	if (tar_number(t->block + OFF_MODE, MODE_WIDTH, &mode) != NUMBER_GOOD)
		return tar_damaged(t, "the mode in a header is not a number");
	e->mode = (unsigned)mode & 07777;
	if (t->pax.has_mtime)
		e->mtime = t->pax.mtime;
	else if (tar_number(t->block + OFF_MTIME, NUMBER_WIDTH, &e->mtime) != NUMBER_GOOD)
		e->mtime = 0;
	if (t->pax.has_size)
		e->size = t->pax.size;
	r = take_names(t, e);
	if (r == 0)
		r = tar_take_type(t, e);
	if (r < 0)
		return r;
	t->stored = e->size;
	if (e->size && e->type != ENTRY_FILE && e->type != ENTRY_HARDLINK)
		return tar_damaged(t, "an entry without data says that it has some");
	return 0;
}

/* --- entries ---------------------------------------------------------------------------------------------- */

static int tar_copy(struct tar *t, uint64_t n)
{
	while (n) {
		const uint8_t *p;
		ssize_t have = source_peek(t->src, &p);
		size_t take = (size_t)MIN((uint64_t)have, n);
		int r;

		if (have <= 0)
			return have < 0 ? (int)have :
					  refuse(t->v, "ARCHIVE_TRUNCATED", t->plan->name.path,
						 "the archive ends within this file");
		r = plan_data(t->plan, p, take);
		if (r < 0)
			return r;
		source_take(t->src, take);
		n -= take;
	}
	return 0;
}

static int copy_pieces(struct tar *t)
{
	const struct sparse_map *m = &t->pax.map;
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		r = plan_hole(t->plan, m->v[i].offset - at);
		if (r == 0)
			r = tar_copy(t, m->v[i].n);
		at = m->v[i].offset + m->v[i].n;
	}
	return r < 0 ? r : plan_hole(t->plan, m->size - at);
}

/* What precedes an entry applies to it alone, also if the plan does not want it. */
static int tar_read_entry(struct tar *t)
{
	struct source_entry e = { .mode = 0 };
	bool content = false;
	int r = take_facts(t, &e);

	if (r == 0)
		/* Before plan_entry: a sparse map changes the entry's size. */
		r = tar_take_map(t, &e);
	if (r == 0)
		r = plan_entry(t->plan, &e);
	if (r < 0)
		return r;
	content = r == 0 && e.type == ENTRY_FILE;
	if (!content)
		r = source_skip(t->src, t->stored);
	else
		r = t->pax.sparse ? copy_pieces(t) : tar_copy(t, t->stored);
	if (r == 0 && content)
		r = plan_end(t->plan);
	if (r == 0)
		r = source_skip(t->src, padding(t->stored));
	pax_reset(&t->pax);
	t->has_pax = t->has_long = t->has_long_link = false;
	return r;
}

/* Reads to the very end: only then has the compression checked everything. */
static int read_end(struct tar *t)
{
	const uint8_t *p;
	ssize_t n;

	if (t->has_pax || t->has_long || t->has_long_link)
		return refuse(t->v, "ARCHIVE_TRUNCATED", NULL, "a header without its entry");
	while ((n = source_peek(t->src, &p)) > 0) {
		if (!bytes_are_zero(p, (size_t)n))
			return refuse(t->v, "TRAILING_DATA", NULL,
				      "something follows the end of the tar");
		source_take(t->src, (size_t)n);
	}
	return (int)n;
}

static int tar_refuse_first(struct tar *t, size_t n)
{
	if (format_is_compressed(t->block, n))
		return refuse(t->v, "NESTED_COMPRESSION", NULL,
			      "what is compressed is compressed again");
	return refuse(t->v, "FORMAT_UNKNOWN", NULL, "what is compressed is no tar");
}

/* The first block decides between "no tar" and "a damaged tar", so that a client learns which it sent. */
static int tar_read_all(struct tar *t)
{
	for (bool first = true;; first = false) {
		ssize_t n = source_read(t->src, t->block, BLOCK);
		int r;

		if (n < 0)
			return (int)n;
		if (n > 0 && n < BLOCK && first)
			return tar_refuse_first(t, (size_t)n);
		if (n < BLOCK)
			return refuse(t->v, "ARCHIVE_TRUNCATED", NULL, "the archive has no end");
		if (bytes_are_zero(t->block, BLOCK))
			return read_end(t);
		if (!format_is_tar_header(t->block))
			return first ? tar_refuse_first(t, BLOCK) :
				       tar_damaged(t, "the checksum of a header is wrong");
		r = tar_read_before(t);
		if (r == 0)
			r = tar_read_entry(t);
		if (r < 0)
			return r;
	}
}

int tar_read(struct source *src, struct plan *plan)
{
	struct tar t = { .src = src, .plan = plan, .v = plan->v };
	struct sums *sums = sums_start(plan->seed);
	int r;

	source_sums(src, sums);
	plan_sums(plan, sums);
	r = tar_read_all(&t);
	plan_sums(plan, NULL);
	source_sums(src, NULL);
	sums_stop(sums);
	pax_done(&t.pax);
	buf_done(&t.name);
	buf_done(&t.link);
	return r;
}
