/*
 * artifact_store.c - stores a session's artifacts: one file each, and a line in index.jsonl.
 *
 * The file is written before its index line, so a line never names missing bytes. A crash between
 * the two leaves a file without a line; the next artifact has the same number and replaces it.
 * add_line starts with a newline, so a truncated last line damages only itself. The index is read
 * on first use. An index from a bundle is untrusted: artifact_read_line checks every member as for a new
 * artifact.
 */
#include "session/parts/workspace/artifact_store.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jdec.h"
#include "session/core/session_internal.h"
#include "session/parts/workspace/workspace_internal.h"

#define INDEX_MAX (16 * MIB)
#define ID_SIZE 32
#define DEFAULT_TYPE "application/octet-stream"

static void put_id(char out[ID_SIZE], const struct artifact *a)
{
	snprintf(out, ID_SIZE, "art_%llu", (unsigned long long)a->no);
}

static char *artifact_dir(const struct session *s)
{
	return xprintf("%s/artifacts/%s", s->store->state_dir, s->id);
}

static char *artifact_file_path(const struct session *s, const char *name)
{
	_cleanup_(freep) char *dir = artifact_dir(s);

	return file_join(dir, name);
}

/* Without the directory the caller fails to write its file, and reports that. */
char *artifact_new_path(struct session *s, const char *name)
{
	_cleanup_(freep) char *dir = artifact_dir(s);

	if (file_mkdirs(dir, 0700) < 0)
		log_warn("session", "no directory for artifacts", "path", dir);
	return artifact_file_path(s, name);
}

/* Built from the number: a name from a client never becomes a path. */
char *artifact_path(struct session *s, const struct artifact *a)
{
	char name[ID_SIZE];

	put_id(name, a);
	return artifact_file_path(s, name);
}

void artifact_describe(struct jw *w, const char *key, const struct artifact *a)
{
	char id[ID_SIZE];

	put_id(id, a);
	jw_obj(w, key);
	jw_str(w, "id", id);
	jw_str(w, "name", a->name);
	jw_str(w, "type", a->type);
	jw_uint(w, "size", a->size);
	jw_str(w, "sha256", SHA256_TEXT_OF(&a->digest));
	if (a->turn)
		jw_uint(w, "turn", a->turn);
	jw_str(w, "source", a->source);
	jw_str(w, "ts", CLOCK_ISO(a->time_ms));
	jw_uint(w, "timeMs", a->time_ms);
	jw_end_obj(w);
}

/* Bytes from 0x80 on pass: a name is UTF-8. */
static bool name_fits(const char *name)
{
	return !slice_has_control(slice_of(name));
}

/* It becomes a header where the artifact is served: printable ASCII alone. */
static bool type_fits(const char *type)
{
	for (const char *p = type; p && *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			return false;
	return true;
}

/* --- the index ------------------------------------------------------------------------------------------ */

struct index_line {
	char *id, *name, *type, *digest, *source;
	int64_t size, turn, time_ms;
};

static const struct jfield index_fields[] = {
	JF_STR(struct index_line, id, "id", JF_REQUIRED, 32),
	JF_STR(struct index_line, name, "name", JF_REQUIRED, ARTIFACT_NAME_MAX),
	JF_STR(struct index_line, type, "type", JF_REQUIRED, ARTIFACT_NAME_MAX),
	JF_STR(struct index_line, digest, "sha256", JF_REQUIRED, 128),
	JF_STR(struct index_line, source, "source", JF_REQUIRED, 32),
	JF_INT(struct index_line, size, "size", JF_REQUIRED, 0, INT64_MAX),
	JF_INT(struct index_line, turn, "turn", 0, 0, INT64_MAX),
	JF_INT(struct index_line, time_ms, "timeMs", JF_REQUIRED, 0, INT64_MAX),
	JF_END,
};

static void artifact_free(struct artifact *a)
{
	free_each(a->name, a->type, a->source, a);
}

/* last is a maximum: the index of a bundle can be in any order. */
static void artifact_keep(struct session *s, struct artifact *a)
{
	list_add_tail(&workspace_of(s)->artifacts.list, &a->link);
	workspace_of(s)->artifacts.n++;
	workspace_of(s)->artifacts.bytes += a->size;
	workspace_of(s)->artifacts.last = MAX(workspace_of(s)->artifacts.last, a->no);
}

/* A line of a bundle may say anything. One that was torn by a crash is left out; its file is overwritten by the next of that number. */
static void artifact_read_line(struct session *s, struct slice text)
{
	struct index_line l = { 0 };
	struct artifact *a;
	struct slice hex;
	struct jval v;

	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT ||
	    jdec_object(text, index_fields, NULL, &l, NULL) < 0)
		return;
	a = new0(struct artifact);
	a->no = strncmp(l.id, "art_", 4) == 0 ? strtoull(l.id + 4, NULL, 10) : 0;
	a->name = TAKE_PTR(l.name);
	a->type = TAKE_PTR(l.type);
	a->source = TAKE_PTR(l.source);
	a->size = (uint64_t)l.size;
	a->turn = (uint64_t)l.turn;
	a->time_ms = (uint64_t)l.time_ms;
	hex = slice_of(l.digest);
	if (a->no && *a->name && *a->type && name_fits(a->name) && type_fits(a->type) &&
	    slice_skip(&hex, "sha256:") && sha256_from_hex(hex, &a->digest) == 0)
		artifact_keep(s, a);
	else
		artifact_free(a);
	jdec_free(index_fields, &l);
}

/* An index that cannot be read is an empty one; the list is valid in any case. */
static void read_index(struct session *s)
{
	_cleanup_(freep) char *path = artifact_file_path(s, "index.jsonl");
	_cleanup_(buf_done) struct buf b = { .max = INDEX_MAX + 4096 };
	struct slice rest, line;

	if (workspace_of(s)->artifacts.read)
		return;
	workspace_of(s)->artifacts.read = true;
	list_init(&workspace_of(s)->artifacts.list);
	if (file_read(path, INDEX_MAX, &b) < 0)
		return;
	rest = buf_slice(&b);
	/* The last line can be without a newline: its write was interrupted. */
	while (rest.n && slice_item(&rest, '\n', &line))
		artifact_read_line(s, line);
}

static int add_line(struct session *s, const struct artifact *a)
{
	_cleanup_(freep) char *path = artifact_file_path(s, "index.jsonl");
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	JW_BUF(w, b);

	if (fd < 0)
		return -errno;
	/* should the last line be torn, this one is not to be part of it */
	buf_putc(&b, '\n');
	artifact_describe(&w, NULL, a);
	buf_putc(&b, '\n');
	return file_write_all(fd, b.data, b.len);
}

/* --- adding ------------------------------------------------------------------------------------------------ */

/* The index is read only for a request that passes the other checks. */
static int admit(struct session *s, const struct artifact_spec *spec, uint64_t size, struct err *e)
{
	if (session_refuse_imported(s, e) < 0)
		return -EPERM;
	if (!name_fits(spec->name))
		return err_field(e, "name", "FIELD_INVALID",
				 "name must not hold control characters");
	if (!type_fits(spec->type)) /* it becomes a header */
		return err_field(e, "type", "FIELD_INVALID",
				 "type must be a media type in printable ASCII");
	if (spec->type && !*spec->type)
		return err_field(e, "type", "FIELD_INVALID", "type must not be empty");
	if (!*spec->name)
		return err_field(e, "name", "FIELD_INVALID", "name must not be empty");
	if (size > ARTIFACT_MAX)
		return err_field(e, "text", "ARTIFACT_TOO_LARGE",
				 "an artifact has at most %lu bytes", ARTIFACT_MAX);
	read_index(s);
	if (workspace_of(s)->artifacts.n >= ARTIFACTS_MAX ||
	    workspace_of(s)->artifacts.bytes + size > ARTIFACTS_BYTES_MAX)
		return err_set(e, -ENOSPC, RPC_INVALID_REQUEST, "TOO_MANY",
			       "a session keeps at most %d artifacts and %lu bytes", ARTIFACTS_MAX,
			       ARTIFACTS_BYTES_MAX);
	return 0;
}

static int artifact_failed(struct err *e, int r)
{
	return err_set(e, r, RPC_INTERNAL_ERROR,
		       r == -ENOSPC || r == -EDQUOT ? "NO_SPACE" : "STATE_NOT_WRITABLE",
		       "the artifact cannot be kept: %s", strerror(-r));
}

/* It is not in the list yet: artifact_finish adds it, once its file and its line are written. */
static struct artifact *make(struct session *s, const struct artifact_spec *spec)
{
	struct artifact *a = new0(struct artifact);

	a->no = workspace_of(s)->artifacts.last + 1;
	a->name = xstrdup(spec->name);
	a->type = xstrdup(spec->type ? spec->type : DEFAULT_TYPE);
	a->source = xstrdup(spec->source);
	a->turn = spec->turn;
	a->time_ms = clock_real_ms();
	return a;
}

/* Clients get an event; receivers of webhooks get the description alone. */
static void announce(struct session *s, const struct artifact *a)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "artifact");
	artifact_describe(&w, "artifact", a);
	event_note(s, EVENT_ARTIFACT, buf_slice(&b));
	buf_reset(&b);
	w = JW(&b);
	artifact_describe(&w, "artifact", a);
	event_webhook(s, WEBHOOK_ARTIFACT_CREATED, NULL, buf_slice(&b));
}

/* Takes ownership of a. r: of its file, which is written before its line. */
static int artifact_finish(struct session *s, struct artifact *a, int r,
			   const struct artifact **ret, struct err *e)
{
	if (r == 0)
		r = add_line(s, a);
	if (r < 0) {
		artifact_free(a);
		return artifact_failed(e, r);
	}
	artifact_keep(s, a);
	announce(s, a);
	*ret = a;
	return 0;
}

int artifact_put(struct session *s, const struct artifact_spec *spec, struct slice bytes,
		 const struct artifact **ret, struct err *e)
{
	_cleanup_(freep) char *dir = artifact_dir(s), *path = NULL;
	struct artifact *a;
	int r = admit(s, spec, bytes.n, e);

	if (r < 0)
		return r;
	a = make(s, spec);
	a->size = bytes.n;
	r = sha256_of(bytes, &a->digest);
	path = artifact_path(s, a);
	if (r == 0)
		r = file_mkdirs(dir, 0700);
	if (r == 0)
		r = file_replace(path, bytes.p, bytes.n, 0600);
	return artifact_finish(s, a, r, ret, e);
}

/* The buffer is static, since only the event loop calls this. */
static int digest_file(const char *path, struct artifact *a)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	static char piece[64 * KIB];
	struct sha256_stream sum;
	ssize_t n;

	if (fd < 0)
		return -errno;
	sha256_begin(&sum);
	while ((n = read(fd, piece, sizeof(piece))) > 0) {
		sha256_add(&sum, piece, (size_t)n);
		a->size += (uint64_t)n;
	}
	if (n < 0)
		return -errno;
	sha256_end(&sum, &a->digest);
	return 0;
}

/* Renames, so path must be on the file system of the state directory. */
int artifact_adopt(struct session *s, const struct artifact_spec *spec, const char *path,
		   const struct artifact **ret, struct err *e)
{
	_cleanup_(freep) char *own = NULL;
	struct artifact *a;
	struct stat sb;
	int r = stat(path, &sb) < 0 ? artifact_failed(e, -errno) :
				      admit(s, spec, (uint64_t)sb.st_size, e);

	if (r < 0)
		return r;
	a = make(s, spec);
	r = digest_file(path, a);
	own = artifact_path(s, a);
	if (r == 0 && rename(path, own) < 0)
		r = -errno;
	return artifact_finish(s, a, r, ret, e);
}

/* --- reading ------------------------------------------------------------------------------------------------ */

void artifact_each(struct session *s, bool (*fn)(void *ctx, const struct artifact *a), void *ctx)
{
	read_index(s);
	list_each(a, &workspace_of(s)->artifacts.list, struct artifact, link)
		if (!fn(ctx, a))
			return;
}

void artifacts_put(struct session *s, struct jw *w)
{
	read_index(s);
	jw_arr(w, "artifacts");
	list_each(a, &workspace_of(s)->artifacts.list, struct artifact, link)
		artifact_describe(w, NULL, a);
	jw_end_arr(w);
}

/* Compares texts, so that "art_01" is not art_1. */
const struct artifact *artifact_find(struct session *s, const char *id)
{
	read_index(s);
	list_each(a, &workspace_of(s)->artifacts.list, struct artifact, link) {
		char own[ID_SIZE];

		put_id(own, a);
		if (strcmp(own, id) == 0)
			return a;
	}
	return NULL;
}

/* What is at the place already is removed first. A bundle without artifacts has no directory (ENOENT). */
int artifacts_take(struct session_store *st, const char *id, const char *from)
{
	_cleanup_(freep) char *all = file_join(st->state_dir, "artifacts"),
			      *to = file_join(all, id);
	int r = file_mkdirs(all, 0700);

	if (r == 0)
		r = removal_tree(st->removal, to);
	if (r == 0 && rename(from, to) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

void artifacts_done(struct session *s)
{
	if (!workspace_of(s)->artifacts.read)
		return;
	list_drain(a, &workspace_of(s)->artifacts.list, struct artifact, link) {
		list_del(&a->link);
		artifact_free(a);
	}
	workspace_of(s)->artifacts.read = false;
}
