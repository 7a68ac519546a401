/* ledger_verify.h - checks a ledger on disk in one call: one file, or a directory with all of them. */
#pragma once

#include "usage/ledger/ledger_file.h"

static inline int ledger_verify(const char *path, const struct ledger_anchor *anchor,
				struct ledger_report *ret, struct err *e)
{
	struct ledger_files f;
	int r = ledger_files_open(&f, path, e);

	if (r == 0) {
		r = ledger_files_verify(&f, anchor, ret, e);
		ledger_files_done(&f);
	}
	return r;
}

static inline int ledgerfile_verify(int fd, const struct ledger_anchor *anchor,
				    unsigned patience_ms, struct ledger_report *ret)
{
	struct ledger_check *c = ledger_check_new(anchor, false, ret);
	int r = ledger_check_fd(c, fd, patience_ms);

	if (r == 0)
		ledger_check_end(c);
	ledger_check_free(c);
	return r;
}
