/*
 * ledger_files.h - a usage ledger of several files, read without a daemon, or beside one that closes and removes
 * files meanwhile: all are opened before the first is read.
 */
#pragma once

#include "usage/ledger/ledger_set.h"

struct ledger_files {
	struct ledger_part {
		int fd;
		char *path;
	} * part;
	size_t n;
	struct ledger_anchor removed; /* by the daemon, as a directory's usage.state says */
};

/* paths: a line each, in the order of their records: files, or directories with all files of a ledger. 0, or
 * -errno with e. */
int ledger_files_open(struct ledger_files *ret, const char *paths, struct err *e);
void ledger_files_done(struct ledger_files *f);
/* As ledgerfile_read; -errno with e. */
int ledger_files_read(const struct ledger_files *f, uint64_t since,
		      bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx,
		      uint64_t *skipped, struct err *e);
/* As ledger_verify; ret->file is the number of the part. */
int ledger_files_verify(const struct ledger_files *f, const struct ledger_anchor *anchor,
			struct ledger_report *ret, struct err *e);
