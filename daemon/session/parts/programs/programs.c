/*
 * programs.c - caches which harnesses are installed, and their versions.
 *
 * A cached version is valid while path, inode, size and times of the file are unchanged
 * (file_mark). A failure is cached for VERSION_RETRY_MS. At most one program runs at a time. Files
 * are examined only while no program runs: a changed mark would otherwise apply to the output of
 * the old file. Callers are answered from a deferred task, never from programs_ask. A command set
 * by a manifest is never run for its version.
 */
#include "session/parts/programs/programs.h"

#include "base/clock.h"
#include "session/core/store/store_internal.h"
#include "session/parts/programs/version_run.h"
#include "session/core/session_paths.h"
#include "session/parts/session_parts.h"

#include <ctype.h>
#include <sys/stat.h>

#define VERSION_RETRY_MS 60000

/* What a file is, so far as it shows without being read. */
struct file_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, modified;
};

struct known_program {
	struct program_fact fact;
	struct file_mark mark;
	uint64_t failed_at; /* 0: it did not */
	bool asked;	    /* what is said of it holds for this file */
};

struct programs {
	struct loop *loop;
	struct proc_host *procs;
	struct programs_config cfg;
	struct known_program *all;
	size_t n;
	struct known_program *running; /* of the run */
	struct version_run *run;
	struct list asks;
	struct loop_task task;
	bool stopped;
};

/* --- what is known ------------------------------------------------------------------------------------------------ */

/* A path that cannot be examined has a mark of zeros, like no path. */
static void mark_of(const char *path, struct file_mark *ret)
{
	struct stat sb;

	memset(ret, 0, sizeof(*ret));
	if (!path || stat(path, &sb) < 0)
		return;
	ret->dev = sb.st_dev;
	ret->ino = sb.st_ino;
	ret->size = sb.st_size;
	ret->changed = sb.st_ctim;
	ret->modified = sb.st_mtim;
}

/* A failure expires: its cause can be outside the file. */
static bool still_holds(const struct known_program *p, const char *path,
			const struct file_mark *mark)
{
	if (!p->asked || !str_equal(p->fact.path, path) ||
	    memcmp(&p->mark, mark, sizeof(*mark)) != 0)
		return false;
	return !p->failed_at || clock_mono_ms() < p->failed_at + VERSION_RETRY_MS;
}

static void program_forget_version(struct known_program *p)
{
	xstrset(&p->fact.version, NULL);
	memset(&p->fact.why, 0, sizeof(p->fact.why));
	p->failed_at = 0;
	p->asked = false;
}

static void program_look_up(const struct programs *all, struct known_program *p)
{
	_cleanup_(freep) char *path =
		paths_find_program(p->fact.def, all->cfg.prefix, all->cfg.path);
	struct file_mark mark;

	mark_of(path, &mark);
	if (still_holds(p, path, &mark))
		return;
	program_forget_version(p);
	xstrset(&p->fact.path, path);
	p->mark = mark;
	/* Nothing to ask: it is not installed, or a manifest named the command. */
	p->asked = !path || p->fact.def->own_command;
}

/* --- asking a program ---------------------------------------------------------------------------------------------- */

static void programs_run_next(void *ctx);

static void program_note_failure(struct known_program *p, const struct err *why)
{
	p->fact.why = *why;
	p->failed_at = clock_mono_ms();
}

static void on_version(void *ctx, const char *version, const struct err *why)
{
	struct programs *all = ctx;
	struct known_program *p = all->running;

	if (version)
		p->fact.version = xstrdup(version);
	else
		program_note_failure(p, why);
	p->asked = true;
	all->running = NULL;
	all->run = version_run_free(all->run);
	loop_defer(all->loop, &all->task, programs_run_next, all);
}

static int program_ask_version(struct programs *all, struct known_program *p, struct err *e)
{
	struct version_spec spec = { .path = p->fact.path,
				     .search = all->cfg.path,
				     .bounds = all->cfg.bounds,
				     .timeout_ms = all->cfg.timeout_ms };

	all->run = version_run_start(all->loop, all->procs, &spec, on_version, all, e);
	return all->run ? 0 : -EIO;
}

/* In the order of the table, which is the order of the answer. */
static struct known_program *next_unasked(struct programs *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!all->all[i].asked)
			return &all->all[i];
	return NULL;
}

/* Each is forgotten before its call, which may ask again. */
static void programs_answer_all(struct programs *all)
{
	list_drain(ask, &all->asks, struct programs_ask, link) {
		list_del(&ask->link);
		ask->fn(ask->ctx);
	}
}

/* Asks the next program, or answers all callers. A program that cannot be started counts as failed, and the next one
 * follows. */
static void programs_run_next(void *ctx)
{
	struct programs *all = ctx;
	struct known_program *p;
	struct err e = { 0 };

	while (!all->stopped && !all->run && (p = next_unasked(all))) {
		all->running = p;
		if (program_ask_version(all, p, &e) == 0)
			return;
		snprintf(e.reason, sizeof(e.reason), "VERSION_FAILED");
		program_note_failure(p, &e);
		p->asked = true;
	}
	if (!all->run)
		programs_answer_all(all);
}

void programs_ask(struct programs *p, struct programs_ask *ask, void (*fn)(void *ctx), void *ctx)
{
	ask->fn = fn;
	ask->ctx = ctx;
	list_add_tail(&p->asks, &ask->link);
	for (size_t i = 0; !p->run && i < p->n; i++)
		program_look_up(p, &p->all[i]);
	loop_defer(p->loop, &p->task, programs_run_next, p);
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

struct programs *programs_new(struct loop *loop, struct proc_host *procs,
			      const struct programs_config *c)
{
	struct programs *p = new0(struct programs);

	p->loop = loop;
	p->procs = procs;
	p->cfg = *c;
	/* The bounds are the only part of the configuration that is not borrowed. */
	proc_bounds_keep(&p->cfg.bounds);
	list_init(&p->asks);
	p->n = c->harnesses->n;
	p->all = xalloc(p->n * sizeof(*p->all));
	for (size_t i = 0; i < p->n; i++) {
		p->all[i].fact.def = &c->harnesses->defs[i];
		p->all[i].fact.pin = harness_pin_of(&c->harnesses->defs[i]);
	}
	return p;
}

struct programs *programs_free(struct programs *p)
{
	if (!p)
		return NULL;
	programs_answer_all(p);
	loop_task_cancel(&p->task);
	version_run_free(p->run);
	for (size_t i = 0; i < p->n; i++)
		free_each(p->all[i].fact.path, p->all[i].fact.version);
	proc_bounds_drop(&p->cfg.bounds);
	free_each(p->all, p);
	return NULL;
}

size_t programs_count(const struct programs *p)
{
	return p->n;
}

const struct program_fact *programs_at(const struct programs *p, size_t i)
{
	return &p->all[i].fact;
}

/* --- what is said of one program ----------------------------------------------------------------------------------- */

static bool is_version_char(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

/* The version may end a sentence. */
static bool version_goes_on(const char *at)
{
	return is_version_char(*at) && !(*at == '.' && !is_version_char(at[1]));
}

/* Whole versions only: 1.2 is found neither in 1.2.3 nor in 11.2. */
bool program_fits(const struct program_fact *f)
{
	const char *want = f->pin && f->version ? f->pin->version : NULL, *at = f->version;
	size_t n = want ? strlen(want) : 0;

	while (want && (at = strstr(at, want))) {
		if ((at == f->version || !is_version_char(at[-1])) && !version_goes_on(at + n))
			return true;
		at++;
	}
	return false;
}

static void put_pin(struct jw *w, const struct harness_pin *pin)
{
	jw_object(w, "pin", JW_STR("package", pin->package), JW_STR("release", pin->release),
		  JW_STR("version", pin->version), JW_STR("file", pin->file),
		  JW_STR("sha256", pin->sha256),
		  JW_STR("of", pin->kind == PIN_TREE ? "package" : "file"));
}

void program_put(struct jw *w, const struct program_fact *f)
{
	jw_obj(w, NULL);
	jw_str(w, "id", f->def->id);
	jw_str(w, "title", f->def->title ? f->def->title : f->def->id);
	jw_str(w, "command", f->def->command);
	jw_bool(w, "installed", f->path);
	jw_str(w, "path", f->path);
	jw_str(w, "version", f->version);
	if (f->pin && f->version)
		jw_bool(w, "versionFits", program_fits(f));
	if (f->pin)
		put_pin(w, f->pin);
	if (*f->why.reason)
		jw_object(w, "problem", JW_STR("reason", f->why.reason),
			  JW_STR("message", f->why.msg));
	jw_end_obj(w);
}

/* --- for all sessions -------------------------------------------------------------------------------------------- */

struct store_programs {
	struct programs *known; /* NULL: nobody has asked yet */
};

static struct store_programs *store_programs_of(const struct session_store *st)
{
	return st->parts[PART_PROGRAMS];
}

/* Not before somebody asks: their bounds are those of the store's level, which a claim may set. */
struct programs *store_programs(struct session_store *st)
{
	struct store_programs *p = store_programs_of(st);
	struct programs_config c = { .harnesses = st->harnesses,
				     .prefix = HARNESS_PREFIX,
				     .path = getenv("PATH"),
				     .timeout_ms = VERSION_SECS * 1000 };

	if (!p->known) {
		c.bounds = store_bounds(st);
		p->known = programs_new(st->loop, st->procs, &c);
	}
	return p->known;
}

/* Kills what runs, and runs nothing more. Callers that still wait get an answer from programs_free. */
static void stop_programs(struct session_store *st)
{
	struct programs *p = store_programs_of(st)->known;

	if (!p)
		return;
	p->stopped = true;
	if (p->run)
		version_run_kill(p->run);
}

static void free_programs(struct session_store *st)
{
	programs_free(store_programs_of(st)->known);
}

const struct session_part programs_part = {
	.name = "programs",
	.store_size = sizeof(struct store_programs),
	.store_stop = stop_programs,
	.store_free = free_programs,
};
