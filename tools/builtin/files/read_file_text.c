/* read_file_text.c - readFile's text for models: numbered lines, or a range of bytes as it is. */
#include "base/limits.h"
#include "digest/base64.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/model_text.h"

#include <inttypes.h>

static void show_image(const struct file_reading *r, struct buf *out)
{
	buf_printf(out, "[%s, %u x %u, %zu bytes]\n", r->image.type, r->image.width,
		   r->image.height, buf_len(&r->bytes));
}

/* As it is, or in base64; n: bytes shown. */
static void show_range(const struct file_reading *r, size_t room, struct buf *out)
{
	struct slice bytes = buf_slice(&r->bytes);
	int64_t end;

	if (r->base64)
		bytes.n = MIN(bytes.n, room / 4 * 3);
	else
		bytes.n = model_text_cut(bytes, room);
	if (r->base64)
		base64_encode(bytes, out);
	else
		buf_add_slice(out, bytes);
	end = r->offset + (int64_t)bytes.n;
	if (out->len && out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
	if (end < r->sb.st_size || r->offset)
		buf_printf(out, "[bytes %" PRId64 "-%" PRId64 " of %lld", r->offset, end,
			   (long long)r->sb.st_size);
	if (end < r->sb.st_size)
		buf_printf(out, "; read on with offset: %" PRId64, end);
	if (end < r->sb.st_size || r->offset)
		buf_puts(out, "]\n");
}

static void show_rest(const struct file_reading *r, int64_t first, int64_t shown, struct buf *out)
{
	int64_t all = model_text_count(buf_slice(&r->bytes));

	if (shown == all && r->ends)
		return;
	buf_printf(out, "[lines %" PRId64 "-%" PRId64, first, first + shown - 1);
	if (r->ends)
		buf_printf(out, " of %" PRId64, first + all - 1);
	else
		buf_printf(out, "; the file goes on, it has %lld bytes", (long long)r->sb.st_size);
	buf_printf(out, "; read on with startLine: %" PRId64 "]\n", first + shown);
}

static void show_numbered(const struct file_reading *r, int64_t line, size_t room, struct buf *out)
{
	struct slice text = buf_slice(&r->bytes);
	struct model_text_lines l = { .first = line ? line : 1,
				      .offset = r->offset,
				      .most = TOOL_SHOW_LINES,
				      .bytes = room };

	if (!text.n) {
		buf_printf(out,
			   line > 1 && r->sb.st_size ? "[the file ends before line %" PRId64 "]\n" :
						       "[the file is empty]\n",
			   line);
		return;
	}
	model_text_lines(out, text, &l);
	show_rest(r, l.first, l.shown, out);
	if (memmem(text.p, MIN(text.n, l.used), "\r\n", 2))
		buf_puts(out, "[lines end in CR LF]\n");
}

void file_reading_text(const struct file_reading *r, int64_t line, size_t room, struct buf *out)
{
	if (r->image.type)
		show_image(r, out);
	else if (r->base64 || (r->offset && !line))
		show_range(r, room, out);
	else
		show_numbered(r, line, room, out);
}
