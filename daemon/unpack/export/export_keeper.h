/*
 * export_keeper.h - runs a job of export_jobs.h as two processes: the keeper, with the rights the program was started
 * with, opens and renames the files of the snapshot directory; the worker becomes the user of the tree, opens it, is
 * confined to it (confine.h), and reads it.
 */
#pragma once

#include "base/slice.h"
#include "unpack/job/unpack_report.h"

/* Answers on standard output. The archive of a pack job goes to descriptor 3. */
enum unpack_exit export_keeper_run(const char *verb, struct slice line);
