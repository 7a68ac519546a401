/*
 * inflate_job.h - the job that writes the decompressed stream of a tar.gz or tar.zst into a file:
 *
 *	inflate	{archive, digest?, output, bytes, uid?, gid?}: {"done":{"bytes":N, "digest":"sha256:..."}} (of the output)
 *
 * For an archive that has been unpacked: nothing looks into the tar here, and whoever unpacks the output checks all of
 * it again. What the compression has to check is checked (inflate.h), and a stream longer than bytes, which is
 * required, is refused.
 *
 * output must not exist; it is made mode 0400 before the process is confined, with nothing left that it could open,
 * and is on disk when the job is done. Of a job that fails the file stays, for whoever gave its name to remove. A job
 * that takes longer than UNPACK_SECS_MAX is ended by SIGALRM. Ends the process as a worker does, for by then it is
 * confined.
 */
#pragma once

#include "unpack/job/unpack_report.h"

_Noreturn void inflate_job(struct slice line);
