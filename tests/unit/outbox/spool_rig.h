/* spool_rig.h - a spool in a scratch directory, and what its owner hears. */
#pragma once

#include "unit.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "loop/loop.h"
#include "outbox/spool.h"

#include <dirent.h>

static struct loop *loop;
static struct spool *spool;
static struct spooled *seen[4096]; /* by number; NULL: it does not wait */
static struct spool_bounds bounds = { 1024 * 1024, 3600 * 1000, 1000 };

static void on_added(void *ctx _unused_, struct spooled *x, struct slice session _unused_)
{
	assert_true(x->n < ARRAY_SIZE(seen) && !seen[x->n]);
	seen[x->n] = x;
}

static void on_gone(void *ctx _unused_, struct spooled *x)
{
	assert_true(seen[x->n] == x);
	seen[x->n] = NULL;
}

static void on_written(void *ctx _unused_)
{
}

static const struct spool_ops ops = { on_added, on_gone, on_written };

static void rig_open(void)
{
	struct err e = { 0 };

	memset(seen, 0, sizeof(seen));
	spool = spool_open(loop, scratch_path("spool"), &bounds, &ops, NULL, &e);
	assert_non_null(spool);
}

static void rig_close(void)
{
	spool = spool_close(spool);
}

static void rig_reopen(void)
{
	rig_close();
	rig_open();
}

static uint64_t rig_add(const char *session, const char *data)
{
	struct spool_record r = { .time_ms = 1000,
				  .type = SLICE("turn.ended"),
				  .session = slice_of(session),
				  .id = SLICE("evt_1"),
				  .data = slice_of(data) };

	return spool_add(spool, &r);
}

static unsigned rig_waiting(void)
{
	struct spool_counts c;

	spool_count(spool, &c);
	return c.waiting;
}

/* The numbers that wait, as "1 2 5". */
static const char *rig_numbers(void)
{
	static char text[8192];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(seen) && at + 8 < sizeof(text); i++)
		if (seen[i])
			at += (size_t)snprintf(text + at, sizeof(text) - at, at ? " %zu" : "%zu",
					       i);
	return text;
}

static const char *rig_gap(void)
{
	static char text[64];
	uint64_t from, to;

	if (!spool_gap(spool, &from, &to))
		return "";
	snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)from, (unsigned long long)to);
	return text;
}

static void rig_says(uint64_t n, const char *data)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct spool_record r;

	assert_non_null(seen[n]);
	assert_int_equal(spool_read(spool, seen[n], &b, &r), 0);
	assert_text(r.data, data);
}

/* The files, the oldest first; the caller frees each. */
static size_t rig_files(char *names[64])
{
	struct dirent **list;
	int n = scandir(scratch_path("spool"), &list, NULL, alphasort);
	size_t found = 0;

	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.' && found < 64)
			names[found++] = file_join(scratch_path("spool"), list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return found;
}

static int rig_setup(void **state)
{
	int r = scratch_setup_memory(state);

	bounds = (struct spool_bounds){ 1024 * 1024, 3600 * 1000, 1000 };
	loop = loop_new();
	rig_open();
	return r;
}

static int rig_done(void **state)
{
	rig_close();
	loop = loop_free(loop);
	return scratch_done(state);
}
