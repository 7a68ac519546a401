/* upload.c - open uploads: their clients, their offsets and their ends. Their bytes belong to the thread. */
#include "archive/archive_internal.h"

#include "archive/upload_thread.h"
#include "base/clock.h"
#include "base/limits.h"

#include <sys/stat.h>

enum upload_state {
	UPLOAD_OPEN,	  /* takes bytes; without a client it is idle and may be taken up */
	UPLOAD_FINISHING, /* the worker checks the archive */
	UPLOAD_ENDING,	  /* was idle for too long: the worker writes what it has and ends */
	UPLOAD_OVER,	  /* has left its entry; the worker's end is awaited */
};

struct upload {
	struct list link;
	struct archive_store *store;
	struct stored *entry; /* NULL when OVER */
	struct upload_thread *worker;
	struct archive_writer *client; /* may be NULL */
	enum upload_state state;
	enum archive_format declared;
	uint64_t offset;  /* bytes taken */
	uint64_t last_ms; /* monotonic: when the last ones came */
	struct loop_timer idle;
	struct loop_task free_task;
};

struct archive_writer {
	struct upload *upload; /* NULL: the upload has ended */
	enum archive_writer_state state;
	struct err error;
	uint64_t offset;
	struct loop *loop;
	struct loop_task task;
	void (*wake)(void *ctx);
	void *ctx;
};

/* --- the client ---------------------------------------------------------------------------------------------- */

static void writer_on_wake(void *ctx)
{
	struct archive_writer *w = ctx;

	w->wake(w->ctx);
}

static void client_set(struct archive_writer *w, enum archive_writer_state state)
{
	w->state = state;
	loop_defer(w->loop, &w->task, writer_on_wake, w);
}

/* What became of the upload, for a client that still listens. */
/* The client keeps its writer until it releases it, but the upload forgets the client: no later event reaches it twice. */
static void client_decide(struct upload *u, enum archive_writer_state state, const struct err *e)
{
	struct archive_writer *w = TAKE_PTR(u->client);

	if (!w)
		return;
	w->upload = NULL;
	w->offset = u->offset;
	if (e)
		w->error = *e;
	client_set(w, state);
}

/* --- the end of an upload ------------------------------------------------------------------------------------ */

static void upload_free(void *ctx)
{
	struct upload *u = ctx;

	loop_timer_cancel(&u->idle);
	loop_task_cancel(&u->free_task);
	upload_thread_free(u->worker);
	list_del(&u->link);
	free(u);
}

/* From here on the digest may be uploaded again, although the thread of this upload has not ended yet. */
struct stored *upload_leave(struct upload *u)
{
	struct stored *e = TAKE_PTR(u->entry);

	e->upload = NULL;
	e->reserved = 0;
	u->state = UPLOAD_OVER;
	loop_timer_cancel(&u->idle);
	upload_thread_end(u->worker);
	return e;
}

static void refresh_part(struct archive_store *s, struct stored *e)
{
	_cleanup_(freep) char *path = stored_file(s, e, ".part");
	struct stat st;

	e->has_part = lstat(path, &st) == 0;
	e->part = e->has_part ? (uint64_t)st.st_size : 0;
	e->used_ns = clock_real_ns();
}

/* keep: the bytes are right as far as they go, and a client can resume them when there is space again. */
static void upload_fail(struct upload *u, bool keep, const struct err *err)
{
	struct stored *e = upload_leave(u);

	client_decide(u, ARCHIVE_FAILED, err);
	if (keep)
		refresh_part(u->store, e);
	else
		stored_remove_part(u->store, e);
	stored_recount(u->store, e);
}

static void upload_placed(struct upload *u)
{
	struct stored *e = upload_leave(u);

	e->whole = true;
	e->baked = false;
	e->size = u->offset;
	e->has_part = false;
	e->part = 0;
	stored_use(u->store, e);
	stored_recount(u->store, e);
	client_decide(u, ARCHIVE_DONE, NULL);
}

/* Deferred, because the thread's event is still on the stack. */
static void upload_ended(struct upload *u)
{
	if (u->state == UPLOAD_ENDING) {
		struct stored *e = upload_leave(u);

		refresh_part(u->store, e);
		stored_recount(u->store, e);
	}
	loop_defer(u->store->loop, &u->free_task, upload_free, u);
}

static void upload_judged(struct upload *u, const struct upload_progress *v)
{
	struct err e = { 0 };
	bool keep = false;

	switch (v->result) {
	case UPLOAD_RUNNING:
		return;
	case UPLOAD_PLACED:
		upload_placed(u);
		return;
	case UPLOAD_BAD_HASH:
		err_set(&e, -EBADMSG, 0, "DIGEST_MISMATCH",
			"the %llu bytes that came have another SHA-256",
			(unsigned long long)u->offset);
		break;
	case UPLOAD_BAD_FORMAT:
		err_set(&e, -EBADMSG, 0, "FORMAT_UNKNOWN",
			"this is no tar, tar.gz, tar.zst or zip archive");
		break;
	case UPLOAD_OTHER_FORMAT:
		err_set(&e, -EBADMSG, 0, "FORMAT_MISMATCH", "declared as %s, but it is %s",
			archive_format_word(u->declared), archive_format_word(v->found));
		break;
	case UPLOAD_FAILED:
		keep = v->error == -ENOSPC || v->error == -EDQUOT;
		err_set(&e, v->error, 0, keep ? "NO_SPACE" : "STORE_FAILED", "%s",
			strerror(-v->error));
		break;
	}
	upload_fail(u, keep, &e);
}

/* The thread may report several changes by one event, so its progress is read as a whole. */
static void on_worker(void *ctx)
{
	struct upload *u = ctx;
	struct upload_progress v = upload_thread_progress(u->worker);

	if (u->state != UPLOAD_OVER)
		upload_judged(u, &v);
	if (v.ended)
		upload_ended(u);
	else if (u->client && u->client->state == ARCHIVE_FULL && v.queued <= ARCHIVE_QUEUE_MAX / 2)
		client_set(u->client, ARCHIVE_OPEN);
}

bool upload_is_idle(const struct upload *u)
{
	return u->state == UPLOAD_OPEN && !u->client;
}

uint64_t upload_offset(const struct upload *u)
{
	return u->offset;
}

static void upload_on_idle(void *ctx)
{
	struct upload *u = ctx;

	u->state = UPLOAD_ENDING;
	upload_thread_end(u->worker);
}

/* The store is being freed: each client is told, and each thread is joined after it has written what it has. */
void uploads_close(struct archive_store *s)
{
	list_each(u, &s->uploads, struct upload, link) {
		struct err e;

		err_set(&e, -ECANCELED, 0, "STORE_FAILED", "the daemon stops");
		client_decide(u, ARCHIVE_FAILED, &e);
		upload_free(u);
	}
}

/* --- the beginning --------------------------------------------------------------------------------------------- */

/* Nothing is changed before all checks have passed: a refused request leaves an upload of another client as it is. */
static int check_upload(const struct archive_store *s, const struct archive_upload *up,
			const struct stored *entry, struct err *e)
{
	const struct upload *u = entry ? entry->upload : NULL;
	uint64_t have = u ? u->offset : entry && entry->has_part ? entry->part : 0;

	if (up->total != ARCHIVE_SIZE_UNKNOWN && up->total > s->upload_max)
		return err_set(e, -EFBIG, 0, "ARCHIVE_TOO_LARGE",
			       "%llu bytes are too many for one archive (limit: %llu)",
			       (unsigned long long)up->total, (unsigned long long)s->upload_max);
	if (u && (u->state != UPLOAD_OPEN ||
		  (u->client && clock_mono_ms() - u->last_ms < ARCHIVE_TAKEOVER_MS)))
		return err_set(e, -EBUSY, 0, "UPLOAD_IN_PROGRESS",
			       "another client is uploading this archive");
	if (up->resume && up->offset != have)
		return err_set(e, -EINVAL, 0, "OFFSET_MISMATCH", "the next byte is number %llu",
			       (unsigned long long)have);
	return 0;
}

/* Each upload has a thread, so an idle one is ended for a new one. */
static int upload_check_count(struct archive_store *s, struct err *e)
{
	struct upload *idle = NULL;
	unsigned n = 0;

	list_each(u, &s->uploads, struct upload, link) {
		n += u->state == UPLOAD_OPEN || u->state == UPLOAD_FINISHING;
		if (!idle && upload_is_idle(u))
			idle = u;
	}
	if (n < ARCHIVE_UPLOADS_MAX)
		return 0;
	if (!idle)
		return err_set(e, -EAGAIN, 0, "TOO_MANY_UPLOADS",
			       "%d archives are being uploaded already", ARCHIVE_UPLOADS_MAX);
	loop_timer_cancel(&idle->idle);
	upload_on_idle(idle);
	return 0;
}

/* Makes room for the upload to grow to bytes. */
static int upload_reserve(struct archive_store *s, struct stored *entry, uint64_t bytes,
			  uint64_t have, struct err *e)
{
	uint64_t before = entry->reserved;
	int r;

	entry->reserved = bytes;
	stored_recount(s, entry);
	r = eviction_make_space(s, entry, 0, bytes > have ? bytes - have : 0, e);
	if (r < 0) {
		entry->reserved = before;
		stored_recount(s, entry);
	}
	return r;
}

static struct upload *upload_new(struct archive_store *s, struct stored *entry, bool resume,
				 struct err *e)
{
	_cleanup_(freep) char *part = stored_file(s, entry, ".part"), *whole = NULL;
	struct upload_thread_job job = { .part = part, .resume = resume, .digest = entry->digest };
	struct upload *u = new0(struct upload);
	int r;

	job.whole = whole = xstrndup(part, strlen(part) - strlen(".part"));
	u->store = s;
	u->worker = upload_thread_start(s->loop, &job, on_worker, u, &r);
	if (!u->worker) {
		err_set(e, r, 0, r == -ENOSPC ? "NO_SPACE" : "STORE_FAILED", "%s", strerror(-r));
		free(u);
		return NULL;
	}
	u->entry = entry;
	entry->upload = u;
	list_add_tail(&s->uploads, &u->link);
	return u;
}

/* The client before has been silent: what it still sends is refused. */
static void take_over(struct upload *u)
{
	struct err e;

	err_set(&e, -ECANCELED, 0, "UPLOAD_TAKEN_OVER",
		"nothing came for %d ms, and another client went on", ARCHIVE_TAKEOVER_MS);
	client_decide(u, ARCHIVE_FAILED, &e);
	loop_timer_cancel(&u->idle);
}

/* Space is reserved before the thread starts or the client is replaced, so that a failure leaves the part as it was. */
static struct upload *upload_take_up(struct archive_store *s, struct stored *entry,
				     const struct archive_upload *up, struct err *e)
{
	uint64_t have = entry->upload ? entry->upload->offset : entry->has_part ? entry->part : 0;
	uint64_t start = up->resume ? have : 0;
	uint64_t bytes = up->total != ARCHIVE_SIZE_UNKNOWN ?
				 up->total :
				 MIN(start + ARCHIVE_STEP_BYTES, s->upload_max);
	struct upload *u = entry->upload;
	bool had_part = entry->has_part;

	entry->has_part = true; /* counts from now on */
	if ((!u && upload_check_count(s, e) < 0) || upload_reserve(s, entry, bytes, have, e) < 0) {
		entry->has_part = had_part;
		return NULL;
	}
	if (u) {
		take_over(u);
		if (!up->resume)
			upload_thread_restart(u->worker);
	} else {
		u = upload_new(s, entry, up->resume, e);
		entry->has_part = had_part || u;
	}
	if (!u)
		return NULL;
	u->offset = entry->part = start;
	return u;
}

struct archive_writer *archive_writer_open(struct archive_store *s, const struct archive_upload *up,
					   void (*wake)(void *ctx), void *ctx, struct err *e)
{
	struct archive_writer *w;
	struct stored *entry;
	struct upload *u;

	if (check_upload(s, up, stored_find(s, &up->digest), e) < 0)
		return NULL;
	entry = stored_get(s, &up->digest);
	u = upload_take_up(s, entry, up, e);
	if (!u) {
		stored_recount(s, entry);
		return NULL;
	}
	w = new0(struct archive_writer);
	w->loop = s->loop;
	w->wake = wake;
	w->ctx = ctx;
	w->upload = u;
	u->client = w;
	u->declared = up->format;
	u->last_ms = clock_mono_ms();
	return w;
}

/* --- bytes ------------------------------------------------------------------------------------------------------ */

/* Of an upload whose size is not known: space is reserved in steps, and not for each piece. */
static int upload_grow(struct upload *u, uint64_t size, struct err *e)
{
	const struct archive_store *s = u->store;

	if (size > s->upload_max)
		return err_set(e, -EFBIG, 0, "ARCHIVE_TOO_LARGE",
			       "more bytes came than one archive may have (limit: %llu)",
			       (unsigned long long)s->upload_max);
	return upload_reserve(u->store, u->entry, MIN(size + ARCHIVE_STEP_BYTES, s->upload_max),
			      u->offset, e);
}

/* The upload stays as an idle one, and can be resumed when there is room. */
static enum archive_writer_state refuse_more(struct archive_writer *w, int r, const struct err *e)
{
	struct upload *u = w->upload;

	if (r == -EFBIG) {
		upload_fail(u, false, e);
	} else {
		client_decide(u, ARCHIVE_FAILED, e);
		loop_timer_set(u->store->loop, &u->idle, ARCHIVE_IDLE_MS, upload_on_idle, u);
	}
	return w->state;
}

enum archive_writer_state archive_writer_add(struct archive_writer *w, struct slice piece)
{
	struct upload *u = w->upload;
	struct err e;
	int r;

	if (w->state != ARCHIVE_OPEN && w->state != ARCHIVE_FULL)
		return w->state;
	if (u->offset + piece.n > u->entry->reserved) {
		r = upload_grow(u, u->offset + piece.n, &e);
		if (r < 0)
			return refuse_more(w, r, &e);
	}
	upload_thread_give(u->worker, piece);
	u->offset += piece.n;
	u->entry->part = u->offset;
	u->last_ms = clock_mono_ms();
	w->state = upload_thread_progress(u->worker).queued > ARCHIVE_QUEUE_MAX ? ARCHIVE_FULL :
										  ARCHIVE_OPEN;
	return w->state;
}

enum archive_writer_state archive_writer_finish(struct archive_writer *w)
{
	if (w->state != ARCHIVE_OPEN && w->state != ARCHIVE_FULL)
		return w->state;
	w->upload->state = UPLOAD_FINISHING;
	upload_thread_finish(w->upload->worker, w->upload->declared);
	w->state = ARCHIVE_BUSY;
	return w->state;
}

enum archive_writer_state archive_writer_state(const struct archive_writer *w)
{
	return w->state;
}

uint64_t archive_writer_offset(const struct archive_writer *w)
{
	return w->upload ? w->upload->offset : w->offset;
}

const struct err *archive_writer_error(const struct archive_writer *w)
{
	return &w->error;
}

void archive_writer_release(struct archive_writer *w)
{
	struct upload *u = w ? w->upload : NULL;

	if (!w)
		return;
	if (u) {
		u->client = NULL;
		if (u->state == UPLOAD_OPEN)
			loop_timer_set(u->store->loop, &u->idle, ARCHIVE_IDLE_MS, upload_on_idle,
				       u);
	}
	loop_task_cancel(&w->task);
	free(w);
}
