/*
 * sync_job.h - what one sync makes durable: the file of the syncer, and others with it. Which files these are, and up to
 * where each is durable, the loop's thread knows (struct synced); a job is taken from that and run by any thread.
 *
 * A job goes one of two ways. The ends of the files are put into usage.ahead (usage/ledger/usage_ahead.h), one flush for all;
 * or each is made durable where it is (fdatasync), and usage.ahead begins again from the front. The first is only for
 * files whose beginning, and name, the second has made durable before. Files that have pieces in usage.ahead stay open
 * until the second way has been gone again: at most USAGE_AHEAD_FILES_MAX.
 */
#pragma once

#include "base/limits.h"
#include "usage/ledger/usage_ahead.h"

/* A file that is not the syncer's own. name: that a restore finds it by (usage/ledger/usage_ahead.h), NULL: it does not.
 * size: of what is written of it; usage_ahead.h says why the file is not asked. fresh: the first time since somebody may
 * have made or cut it: from then on it is only appended to. */
struct sync_also {
	int fd; /* for reading; the caller's */
	const char *name;
	off_t size;
	bool fresh;
};

struct synced_file {
	char *name; /* below the directory */
	int fd;	    /* -1: nothing is to be done, or it is others' */
	off_t until, to;
	off_t running_to; /* of the job that runs */
	bool based;	  /* it is durable up to until */
	bool wanted;	  /* up to to, by the next job */
	bool running;
	bool ahead; /* a part of it is durable in usage.ahead alone */
};

struct synced {
	struct synced_file main; /* its descriptor is the caller's */
	struct synced_file file[USAGE_AHEAD_FILES_MAX];
	size_t n;
	int *others; /* that are not followed, ours */
	size_t nothers;
	int old, dirfd; /* the file before the last switch, ours; the names of both */
	bool settle;	/* the next job takes the second way */
};

struct sync_job {
	bool ahead; /* the first way */
	struct usage_ahead_piece piece[USAGE_AHEAD_FILES_MAX + 1];
	size_t n;
	int *others;
	size_t nothers;
	int old, dirfd;
};

void synced_init(struct synced *s, int fd, int dirfd, const char *name);
/* Closes and frees; an unfinished job is the caller's. */
void synced_done(struct synced *s);
/* As syncer_switch. */
void synced_switch(struct synced *s, int fd, int dirfd, const char *name);
/* As syncer_also. */
int synced_also(struct synced *s, const struct sync_also *f);
/* Something is durable in usage.ahead alone. */
bool synced_ahead(const struct synced *s);
/* The job that runs is given up: the next one does its work, too. */
void synced_again(struct synced *s);

/* All that is to be made durable. */
void sync_job_take(struct synced *s, const struct usage_ahead *a, struct sync_job *ret);
/* In any thread. 0 or -errno. */
int sync_job_run(const struct sync_job *j, struct usage_ahead *a);
/* Those that are not followed alone. */
int sync_job_others(const struct sync_job *j);
/* The job's descriptors are not needed any more; what it has made durable is known, if result is 0. */
void sync_job_end(struct synced *s, struct sync_job *j, int result);
