/*
 * intent_log.c - writes and parses the intent log of a commit.
 *
 * Numbers are lower-case hex without leading zeros. The last letter is the only byte that is ever overwritten: P
 * planned (nothing may happen), R being done, U being undone, D done. So with a log that is cut off anywhere, or only
 * planned, the target is as it was, and one byte starts the commit.
 *
 * The log lies where the tree's user can write, so its content is not trusted. Every number and
 * path is parsed strictly, at load and again when its step runs. path_ok refuses "..", empty names
 * and control bytes. The CRC detects truncation and torn writes, not forgery: a forged log can only
 * do what that user could do anyway, because the steps run as that user.
 *
 * Offsets of the lines are stored instead of the lines, which bounds the memory.
 */
#include "unpack/commit/intent_log.h"

#include "base/clock.h"
#include "base/format/crc32c.h"
#include "base/os/file.h"
#include "base/util.h"

#define PIECE (64 * KIB)
#define NAME_BYTES_MAX 255
#define NUMBERS 10

static const char *const heads[] = {
	[LOG_MERGE] = "acpd-merge 1 ",
	[LOG_WHOLE] = "acpd-whole 1 ",
	[LOG_EXACT] = "acpd-exact 1 ",
};

void stamp_of(const struct stat *sb, struct stamp *id)
{
	*id = (struct stamp){
		.ino = sb->st_ino,
		.size = (uint64_t)sb->st_size,
		.mtime = time_ns(&sb->st_mtim),
		.ctime = sb->st_nlink > 1 ? 0 : time_ns(&sb->st_ctim),
		.mode = sb->st_mode,
	};
}

/* --- a line ------------------------------------------------------------------------------------------- */

int op_put(const struct op *op, struct buf *out)
{
	const struct stamp *a = &op->was, *b = &op->will;
	const uint64_t v[NUMBERS] = { a->ino, a->size, a->mtime, a->ctime, a->mode,
				      b->ino, b->size, b->mtime, b->ctime, b->mode };

	buf_putc(out, (char)op->kind);
	for (size_t i = 0; i < NUMBERS; i++)
		buf_printf(out, " %llx", (unsigned long long)v[i]);
	buf_putc(out, ' ');
	buf_add_slice(out, op->path);
	return buf_putc(out, '\n');
}

static bool take_hex(struct slice *s, uint64_t *ret)
{
	size_t i = 0;

	*ret = 0;
	for (; i < s->n && i < 16; i++) {
		const char *digit = s->p[i] ? strchr("0123456789abcdef", s->p[i]) : NULL;

		if (!digit)
			break;
		*ret = *ret << 4 |
		       (uint64_t)(uint8_t)(*digit > '9' ? *digit - 'a' + 10 : *digit - '0');
	}
	if (!i || (s->p[0] == '0' && i > 1))
		return false;
	s->p += i;
	s->n -= i;
	return true;
}

static bool op_name_ok(struct slice name)
{
	return name.n && name.n <= NAME_BYTES_MAX && !slice_has_control(name) &&
	       !slice_is(name, ".") && !slice_is(name, "..");
}

static bool op_path_ok(struct slice path)
{
	struct slice name;
	unsigned depth = 0;

	if (path.n > PATH_BYTES_MAX)
		return false;
	while (slice_item(&path, '/', &name))
		if (!op_name_ok(name) || ++depth > PATH_DEPTH_MAX + 1)
			return false;
	return depth > 0;
}

int op_parse(struct slice line, struct op *op)
{
	struct stamp *a = &op->was, *b = &op->will;
	uint64_t *const v[NUMBERS] = { &a->ino, &a->size, &a->mtime, &a->ctime, &a->mode,
				       &b->ino, &b->size, &b->mtime, &b->ctime, &b->mode };

	if (!line.n || !line.p[0] || !strchr("axrdmc", line.p[0]))
		return -EBADMSG;
	op->kind = (enum op_kind)line.p[0];
	line.p++;
	line.n--;
	for (size_t i = 0; i < NUMBERS; i++)
		if (!slice_skip(&line, " ") || !take_hex(&line, v[i]))
			return -EBADMSG;
	if (!slice_skip(&line, " ") || !op_path_ok(line))
		return -EBADMSG;
	op->path = line;
	return 0;
}

/* --- writing ------------------------------------------------------------------------------------------ */

int summed_flush(struct summed_writer *w)
{
	int r = w->out.failed ? -ENOMEM : file_write_all(w->fd, w->out.data, w->out.len);

	w->crc = crc32c(w->crc, w->out.data, w->out.len);
	buf_reset(&w->out);
	return r;
}

int intent_log_begin(struct intent_log_writer *w, int fd, enum log_kind kind)
{
	struct stat sb;

	*w = (struct intent_log_writer){ .to.fd = fd };
	if (fstat(fd, &sb) < 0)
		return -errno;
	return buf_printf(&w->to.out, "%s%llx\n", heads[kind],
			  (unsigned long long)time_ns(&sb.st_ctim));
}

int intent_log_add(struct intent_log_writer *w, const struct op *op)
{
	int r;

	if (!op_path_ok(op->path))
		return -EINVAL;
	if (w->n == COMMIT_OPS_MAX)
		return -E2BIG;
	w->n++;
	r = op_put(op, &w->to.out);
	return r == 0 && w->to.out.len >= PIECE ? summed_flush(&w->to) : r;
}

int intent_log_put(struct intent_log_writer *w, enum op_kind kind, const char *path,
		   const struct stamp *was, const struct stamp *will)
{
	struct op op = { .kind = kind, .path = slice_of(path) };

	if (was)
		op.was = *was;
	if (will)
		op.will = *will;
	return intent_log_add(w, &op);
}

int intent_log_end(struct intent_log_writer *w)
{
	int r = summed_flush(&w->to);

	if (r < 0)
		return r;
	/* The CRC covers all lines before this one, which are written by now. */
	buf_printf(&w->to.out, "end %llx %08x %c\n", (unsigned long long)w->n, w->to.crc,
		   LOG_PLANNED);
	r = summed_flush(&w->to);
	return r == 0 && fsync(w->to.fd) < 0 ? -errno : r;
}

/* --- reading ------------------------------------------------------------------------------------------ */

struct intent_log_reading {
	struct intent_log *log;
	struct buf b;
	uint64_t at; /* where b begins in the file */
	uint32_t crc;
	size_t lines; /* of log->at */
	bool ended;
};

static int log_take_head(struct intent_log_reading *r, struct slice line)
{
	struct intent_log *log = r->log;
	size_t kind = 0;

	while (kind < ARRAY_SIZE(heads) && !slice_skip(&line, heads[kind]))
		kind++;
	if (kind == ARRAY_SIZE(heads))
		return -EBADMSG;
	log->kind = (enum log_kind)kind;
	return take_hex(&line, &log->since) && !line.n ? 0 : -EBADMSG;
}

static int log_take_end(struct intent_log_reading *r, struct slice line)
{
	static const char letters[] = { LOG_PLANNED, LOG_REDO, LOG_UNDO, LOG_DONE };
	_cleanup_(buf_done) struct buf want = { 0 };

	for (size_t i = 0; i < sizeof(letters) && !r->ended; i++) {
		buf_reset(&want);
		buf_printf(&want, "end %llx %08x %c", (unsigned long long)r->log->n, r->crc,
			   letters[i]);
		r->ended = slice_eq(line, buf_slice(&want));
		r->log->state = (enum log_state)letters[i];
	}
	r->log->letter = r->at + line.n - 1;
	return r->ended ? 0 : -EBADMSG;
}

static int log_take_line(struct intent_log_reading *r, struct slice line)
{
	struct op op;
	int bad;

	if (r->ended)
		return -EBADMSG;
	if (!r->at)
		return log_take_head(r, line);
	if (r->lines > COMMIT_OPS_MAX)
		return -E2BIG;
	*GROW(r->log->at, r->lines) = r->at;
	if (slice_starts(line, "end "))
		return log_take_end(r, line);
	bad = line.n < INTENT_LOG_LINE_MAX && r->log->kind != LOG_WHOLE ? op_parse(line, &op) :
									  -EBADMSG;
	if (bad == 0)
		r->log->n++;
	return bad;
}

/* Takes all whole lines; what remains is a part of one. */
static int log_take_lines(struct intent_log_reading *r)
{
	struct slice have = buf_slice(&r->b), line;
	int bad = 0;

	while (bad == 0 && slice_cut(&have, '\n', &line)) {
		bad = log_take_line(r, line);
		r->crc = crc32c(r->crc, line.p, line.n + 1);
		r->at += line.n + 1;
		buf_consume(&r->b, line.n + 1);
	}
	return bad == 0 && buf_len(&r->b) > INTENT_LOG_LINE_MAX ? -EBADMSG : bad;
}

static int log_read_all(struct intent_log_reading *r)
{
	off_t offset = 0;
	int bad = 0;

	while (bad == 0) {
		ssize_t got;

		bad = buf_reserve(&r->b, PIECE);
		if (bad < 0)
			break;
		got = pread(r->log->fd, r->b.data + r->b.len, PIECE, offset);
		if (got < 0)
			return -errno;
		if (!got)
			return r->ended && !buf_len(&r->b) ? 0 : -EBADMSG;
		r->b.len += (size_t)got;
		offset += got;
		bad = log_take_lines(r);
	}
	return bad;
}

int intent_log_load(struct intent_log *log, int fd)
{
	struct intent_log_reading reading = { .log = log };
	int r;

	*log = (struct intent_log){ .fd = fd };
	r = log_read_all(&reading);
	buf_done(&reading.b);
	return r;
}

void intent_log_done(struct intent_log *log)
{
	free(TAKE_PTR(log->at));
}

int intent_log_step(const struct intent_log *log, size_t i, char line[INTENT_LOG_LINE_MAX],
		    struct op *op)
{
	size_t n = (size_t)(log->at[i + 1] - log->at[i]) - 1;
	int r;

	/* read a second time: others may have written into it meanwhile */
	if (pread(log->fd, line, n, (off_t)log->at[i]) != (ssize_t)n)
		return -EBADMSG;
	r = op_parse((struct slice){ line, n }, op);
	line[n] = '\0'; /* so that the path is a string */
	return r;
}

int intent_log_set(struct intent_log *log, enum log_state state)
{
	char letter = (char)state;

	if (pwrite(log->fd, &letter, 1, (off_t)log->letter) != 1 || fsync(log->fd) < 0)
		return -errno;
	log->state = state;
	return 0;
}
