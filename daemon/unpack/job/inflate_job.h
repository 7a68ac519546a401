/*
 * inflate_job.h - the job that writes the decompressed stream of a tar.gz or tar.zst into a file:
 *
 *	inflate	{archive, digest?, output, bytes, uid?, gid?}: {"done":{"bytes":N, "digest":"sha256:..."}} (of the output)
 *
 * The archive has been unpacked before. This job does not read the tar inside: the job that unpacks the output checks
 * it again. Checksums of the compression are checked here (inflate.h). A stream longer than bytes, which is required,
 * is refused.
 *
 * output must not exist. It is created with mode 0400 before the process is confined, because the confined process can
 * open nothing. It is on disk when the job is done. If the job fails, the file stays and the caller removes it. SIGALRM
 * ends a job that takes longer than UNPACK_SECS_MAX. The function ends the process as a worker does, because the
 * process is confined by then.
 */
#pragma once

#include "unpack/job/unpack_report.h"

_Noreturn void inflate_job(struct slice line);
