/*
 * agui_threads.c - the threads in memory and in <state>/agui/<sessionId>.json, one file for each.
 *
 * A file is named after the session, so removing the session's files removes it too. The files are
 * read at the first lookup. An entry is dropped when a lookup or a new thread finds its session
 * deleted, unless a run or a parked connection uses the entry. Settings are stored as a digest,
 * because they can contain keys. `over` has the newest AGUI_OVER_MAX finished calls, without
 * results.
 */
#include "agui/agui_link.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "json/json.h"

#include <dirent.h>

#define SUFFIX ".json"

struct agui_threads {
	struct session_store *store;
	char *dir;
	struct list all; /* struct agui_thread */
	bool read;
};

/* --- one ------------------------------------------------------------------------------------------------------------ */

static struct agui_thread *thread_new(struct agui_threads *ts)
{
	struct agui_thread *t = new0(struct agui_thread);

	list_add_tail(&ts->all, &t->link);
	t->given.max = AGUI_BODY_MAX;
	return t;
}

static void over_done(struct agui_over *o)
{
	free_each(o->id, o->harness_id, o->tool);
	*o = (struct agui_over){ 0 };
}

void agui_thread_drop(struct agui_thread *t)
{
	list_del(&t->link);
	for (size_t i = 0; i < t->ntold; i++)
		free(t->told[i].id);
	for (size_t i = 0; i < t->nover; i++)
		over_done(&t->over[i]);
	secret_buf_done(&t->given);
	free_each(t->told, t->id, t->session_id, t->harness, t->profile, t);
}

void agui_thread_tell(struct agui_thread *t, const char *id, const char digest[AGUI_DIGEST_HEX])
{
	struct agui_told *one = GROW(t->told, t->ntold);

	one->id = xstrdup(id);
	snprintf(one->digest, AGUI_DIGEST_HEX, "%s", digest);
}

static struct agui_over *over_add(struct agui_thread *t)
{
	if (t->nover == ARRAY_SIZE(t->over)) {
		/* The oldest is dropped: a late result for it is ignored from then on (check_lost). */
		over_done(&t->over[0]);
		memmove(&t->over[0], &t->over[1], sizeof(t->over) - sizeof(t->over[0]));
		t->nover--;
	}
	t->over[t->nover] = (struct agui_over){ 0 };
	return &t->over[t->nover++];
}

struct agui_over *agui_thread_over(struct agui_thread *t, const char *id)
{
	for (size_t i = t->nover; i--;)
		if (strcmp(t->over[i].id, id) == 0)
			return &t->over[i];
	return NULL;
}

void agui_thread_call_over(struct agui_thread *t, const char *id, bool lost)
{
	struct agui_over *o = agui_thread_over(t, id);

	if (!o) {
		o = over_add(t);
		o->id = xstrdup(id);
	}
	o->lost = lost;
}

struct agui_over *agui_thread_named(struct agui_thread *t, const char *harness_id)
{
	for (size_t i = t->nover; i--;)
		if (t->over[i].harness_id && strcmp(t->over[i].harness_id, harness_id) == 0)
			return &t->over[i];
	return NULL;
}

struct agui_over *agui_thread_untold(struct agui_thread *t, const char *tool)
{
	for (size_t i = 0; i < t->nover; i++)
		if (t->over[i].awaited && strcmp(t->over[i].tool, tool) == 0)
			return &t->over[i];
	return NULL;
}

void agui_thread_turn_over(struct agui_thread *t)
{
	for (size_t i = 0; i < t->nover; i++)
		t->over[i].awaited = false;
}

/* --- its file ------------------------------------------------------------------------------------------------------- */

static char *thread_path(const struct agui_threads *ts, const char *session_id)
{
	return xprintf("%s/%s" SUFFIX, ts->dir, session_id);
}

static void put_told(struct jw *w, const struct agui_thread *t)
{
	jw_arr(w, "told");
	for (size_t i = 0; i < t->ntold; i++)
		jw_object(w, NULL, JW_STR("id", t->told[i].id),
			  JW_STR("digest", t->told[i].digest));
	jw_end_arr(w);
}

static void put_over(struct jw *w, const struct agui_thread *t)
{
	jw_arr(w, "over");
	/* Without `args` and `awaited`: no update of a call is awaited after a restart. */
	for (size_t i = 0; i < t->nover; i++)
		jw_object(w, NULL, JW_STR("id", t->over[i].id),
			  JW_STR("call", t->over[i].harness_id), JW_STR("tool", t->over[i].tool),
			  JW_BOOL("lost", t->over[i].lost));
	jw_end_arr(w);
}

static void put_thread_file(struct buf *b, const struct agui_thread *t)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "threadId", t->id);
	jw_str(&w, "harness", t->harness);
	jw_str(&w, "profile", t->profile);
	jw_str(&w, "settings", t->settings);
	jw_str(&w, "context", t->context);
	jw_bool(&w, "frontEnd", t->has_front_end);
	put_told(&w, t);
	put_over(&w, t);
	jw_end_obj(&w);
}

int agui_thread_save(const struct agui_threads *ts, const struct agui_thread *t, struct err *e)
{
	_cleanup_(freep) char *path = thread_path(ts, t->session_id);
	_cleanup_(buf_done) struct buf b = { .max = AGUI_THREAD_FILE_MAX };
	int r;

	put_thread_file(&b, t);
	r = b.failed ? -E2BIG : file_mkdirs(ts->dir, 0700);
	if (r == 0)
		r = file_replace(path, b.data, buf_len(&b), 0600);
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "the thread cannot be written down: %s", strerror(-r));
	return 0;
}

/* --- reading them --------------------------------------------------------------------------------------------------- */

struct thread_args {
	char *id, *harness, *profile, *settings, *context;
	bool has_front_end;
	struct slice told, over;
};

static const struct jfield thread_fields[] = {
	JF_STR(struct thread_args, id, "threadId", JF_REQUIRED, AGUI_ID_MAX),
	JF_STR(struct thread_args, harness, "harness", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct thread_args, profile, "profile", 0, AGUI_ID_MAX),
	JF_STR(struct thread_args, settings, "settings", 0, SHA256_HEX),
	JF_STR(struct thread_args, context, "context", 0, SHA256_HEX),
	JF_BOOL(struct thread_args, has_front_end, "frontEnd", 0),
	JF_ARR(struct thread_args, told, "told", JF_REQUIRED),
	JF_ARR(struct thread_args, over, "over", JF_REQUIRED),
	JF_END,
};

static void read_told(struct agui_thread *t, struct slice array)
{
	jarr_each(v, array) {
		_cleanup_(freep) char *id = NULL, *digest = NULL;

		if (t->ntold == AGUI_MESSAGES_MAX)
			break;
		/* 1: the prefix, u or s. */
		if (jstr_decode(jobj_get(v.raw, "id"), AGUI_ID_MAX + 1, &id) == 0 &&
		    jstr_decode(jobj_get(v.raw, "digest"), AGUI_DIGEST_HEX, &digest) == 0)
			agui_thread_tell(t, id, digest);
	}
}

static void read_over(struct agui_thread *t, struct slice array)
{
	struct agui_over *o;

	jarr_each(v, array) {
		_cleanup_(freep) char *id = NULL;

		if (jstr_decode(jobj_get(v.raw, "id"), RPC_ID_MAX, &id) < 0)
			continue;
		agui_thread_call_over(t, id, jobj_get(v.raw, "lost").type == J_TRUE);
		o = agui_thread_over(t, id);
		(void)jstr_decode(jobj_get(v.raw, "call"), RPC_ID_MAX, &o->harness_id);
		(void)jstr_decode(jobj_get(v.raw, "tool"), RPC_ID_MAX, &o->tool);
	}
}

static void set_digest(char to[SHA256_HEX], const char *from)
{
	snprintf(to, SHA256_HEX, "%s", from ? from : "");
}

static void take_thread(struct agui_threads *ts, struct thread_args *a, const char *session_id)
{
	struct agui_thread *t = thread_new(ts);

	t->id = TAKE_PTR(a->id);
	t->harness = TAKE_PTR(a->harness);
	t->profile = TAKE_PTR(a->profile);
	t->session_id = xstrdup(session_id);
	t->has_front_end = a->has_front_end;
	set_digest(t->settings, a->settings);
	set_digest(t->context, a->context);
	read_told(t, a->told);
	read_over(t, a->over);
}

static void read_thread(struct agui_threads *ts, const char *session_id)
{
	_cleanup_(freep) char *path = thread_path(ts, session_id);
	_cleanup_(buf_done) struct buf b = { 0 };
	struct thread_args a = { 0 };
	struct jval v;
	struct err e = { 0 };

	/* A damaged file costs the thread, not its session. */
	if (file_read(path, AGUI_THREAD_FILE_MAX, &b) == 0 &&
	    jscan_value(buf_slice(&b), &v) == JSCAN_OK &&
	    jdec_object(v.raw, thread_fields, NULL, &a, &e) == 0)
		take_thread(ts, &a, session_id);
	else
		log_warn("agui", "a thread cannot be read", "path", path, "text", e.msg);
	jdec_free(thread_fields, &a);
}

static void read_all_threads(struct agui_threads *ts)
{
	_cleanup_(closedirp) DIR *d = opendir(ts->dir);
	struct dirent *entry;

	/* Also without a directory: agui_thread_save creates it for the first thread. */
	ts->read = true;
	while (d && (entry = readdir(d))) {
		_cleanup_(freep) char *id = xstrdup(entry->d_name);
		size_t n = strlen(id), m = strlen(SUFFIX);

		if (n <= m || strcmp(id + n - m, SUFFIX) != 0)
			continue;
		id[n - m] = '\0';
		read_thread(ts, id);
	}
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

static bool session_is_gone(const struct agui_threads *ts, const struct agui_thread *t)
{
	return t->session_id && !t->run && !t->parked && !store_find(ts->store, t->session_id);
}

/* A session has gone by itself: what it left is removed, the file too. */
static void sweep_threads(struct agui_threads *ts)
{
	list_each(t, &ts->all, struct agui_thread, link)
		if (session_is_gone(ts, t))
			agui_thread_drop(t);
}

struct agui_thread *agui_thread_find(struct agui_threads *ts, const char *id)
{
	if (!ts->read)
		read_all_threads(ts);
	list_each(t, &ts->all, struct agui_thread, link)
		if (t->id && strcmp(t->id, id) == 0) {
			if (!session_is_gone(ts, t))
				return t;
			agui_thread_drop(t);
		}
	return NULL;
}

struct agui_thread *agui_thread_add(struct agui_threads *ts, const char *id, const char *harness,
				    const char *profile)
{
	struct agui_thread *t;

	/* New threads pay for it, so that entries of deleted sessions do not add up. */
	sweep_threads(ts);
	t = thread_new(ts);
	t->id = xstrdup(id);
	t->harness = xstrdup(harness);
	t->profile = xstrdup(profile);
	return t;
}

struct agui_threads *agui_threads_new(const char *state, struct session_store *store)
{
	struct agui_threads *ts = new0(struct agui_threads);

	ts->store = store;
	ts->dir = file_join(state, "agui");
	list_init(&ts->all);
	return ts;
}

struct agui_threads *agui_threads_free(struct agui_threads *ts)
{
	while (!list_empty(&ts->all))
		agui_thread_drop(list_first(&ts->all, struct agui_thread, link));
	free_each(ts->dir, ts);
	return NULL;
}
