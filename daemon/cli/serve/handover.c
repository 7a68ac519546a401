/*
 * handover.c - passes claim, listener and number of restarts through execve to the next program
 * (acpd restart).
 *
 * The state contains secrets, so it is in a memfd and never on disk; ACPD_HANDOVER has its
 * descriptor. The variable is removed when it is read, so that no child inherits it. The listener
 * is duplicated without FD_CLOEXEC: the port stays bound, and clients wait in its backlog. The path
 * of the executable is read at the start, because /proc/self/exe changes when the file is replaced.
 */
#include "cli/cmd.h"
#include "cli/serve/serve.h"

#include "base/format/digits.h"
#include "base/os/file.h"
#include "base/util.h"
#include "json/json.h"

#include <sys/mman.h>

#define VARIABLE "ACPD_HANDOVER"
#define HANDOVER_MAX (2 * MIB)
#define ARGUMENTS_MAX (128 * KIB)

static char *program;

struct left {
	int64_t listener, restarts;
	char *file;
	struct slice claim;
};

static const struct jfield left_fields[] = {
	JF_INT(struct left, listener, "listener", JF_REQUIRED, 3, 65535),
	JF_INT(struct left, restarts, "restarts", JF_REQUIRED, 0, INT64_MAX),
	JF_STR(struct left, file, "file", 0, SHA256_HEX),
	JF_OBJ(struct left, claim, "claim", 0),
	JF_END,
};

static int handover_decode(struct handover *h, struct err *e)
{
	struct left l = { 0 };
	struct jval v;
	int r = jscan_value((struct slice){ h->text, h->n }, &v) == JSCAN_OK && v.type == J_OBJECT ?
			jdec_object(v.raw, left_fields, NULL, &l, e) :
			-EINVAL;

	if (r == 0) {
		h->listener = (int)l.listener;
		h->restarts = (uint64_t)l.restarts;
		h->claim = l.claim;
		h->has_file = l.file && sha256_from_hex(slice_of(l.file), &h->file) == 0;
		(void)fcntl(h->listener, F_SETFD, FD_CLOEXEC);
	}
	jdec_free(left_fields, &l);
	return r;
}

int handover_take(struct handover *h, struct err *e)
{
	const char *text = getenv(VARIABLE);
	struct buf b = { 0 };
	uint64_t fd;
	int r;

	*h = (struct handover){ 0 };
	if (!text)
		return 0;
	r = u64_parse(slice_of(text), &fd) && fd > 2 && fd <= INT32_MAX ? 0 : -EINVAL;
	unsetenv(VARIABLE);
	if (r == 0 && lseek((int)fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = file_read_fd((int)fd, HANDOVER_MAX, &b);
	if (r == 0) {
		close((int)fd);
		h->text = b.data;
		h->n = b.len;
		r = handover_decode(h, e);
	}
	return r < 0 ? err_set(e, r, 0, "HANDOVER",
			       "cannot read what the program before has left") :
		       0;
}

void handover_done(struct handover *h)
{
	if (h->text)
		secret_wipe(h->text, h->n);
	free(TAKE_PTR(h->text));
	h->claim = SLICE_NONE;
}

int handover_leave(const struct claim_desk *desk, const struct admission *admission, int listener,
		   uint64_t restarts)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	/* Both without the flag that closes them in the program to come. */
	int fd = memfd_create("acpd", 0), kept = fcntl(listener, F_DUPFD, 3), r;

	if (fd < 0 || kept < 0)
		return -EMFILE; /* the process ends, and closes the other one */
	jw_obj(&w, NULL);
	jw_int(&w, "listener", kept);
	jw_uint(&w, "restarts", restarts + 1);
	admission_put_file(admission, &w);
	claim_desk_put(desk, &w);
	jw_end_obj(&w);
	r = b.failed ? -ENOMEM : file_write_all(fd, b.data, b.len);
	return r < 0 ? r : fd;
}

void handover_note_program(void)
{
	program = file_own_program();
}

/* The arguments as the kernel keeps them, each with its NUL. */
static char **arguments(struct buf *b)
{
	char **argv = NULL;
	size_t n = 0;

	if (file_read("/proc/self/cmdline", ARGUMENTS_MAX, b) < 0 || !b->len || b->data[b->len - 1])
		return NULL;
	argv = xalloc((b->len + 1) * sizeof(*argv));
	for (char *p = b->data; p < b->data + b->len; p += strlen(p) + 1)
		argv[n++] = p;
	argv[n] = NULL;
	return argv;
}

int handover_execute(int fd)
{
	struct buf b = { 0 };
	char **argv = arguments(&b), number[16];

	snprintf(number, sizeof(number), "%d", fd);
	if (!argv || !program || setenv(VARIABLE, number, 1) < 0)
		return -ENOMEM;
	execv(program, argv);
	return -errno;
}
