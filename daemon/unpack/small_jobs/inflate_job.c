/*
 * inflate_job.c - decompresses an archive into a file, so that later jobs read the plain tar:
 *
 *	inflate	{archive, digest?, output, bytes, uid?, gid?}: {"done":{"bytes":N, "digest":"sha256:..."}} (of the output)
 *
 * The archive has been unpacked before. This job does not read the tar inside: the job that unpacks the output checks
 * it again. Checksums of the compression are checked here. A stream longer than bytes, which is required, is refused.
 *
 * Input and output are opened before confinement, after which the process can open nothing. output must not exist; it is
 * created with mode 0400, and synced before the answer, because the caller renames it into the store. If the job fails,
 * the file stays and the caller removes it. alarm(2) enforces the time limit UNPACK_SECS_MAX: its default action ends the
 * process, also during a blocking read or write.
 */
#include "unpack/small_jobs/small_job.h"

#include "base/os/file.h"

struct inflate_job {
	char *archive, *digest, *output;
	int64_t bytes, uid, gid;
	struct verdict v;
};

static const struct jfield inflate_fields[] = {
	JF_STR(struct inflate_job, archive, "archive", JF_REQUIRED, PATH_BYTES_MAX),
	JF_STR(struct inflate_job, digest, "digest", 0, 80),
	JF_STR(struct inflate_job, output, "output", JF_REQUIRED, PATH_BYTES_MAX),
	JF_INT(struct inflate_job, bytes, "bytes", JF_REQUIRED, 0, INT64_MAX / 4),
	JF_INT(struct inflate_job, uid, "uid", 0, 0, ID_MAX),
	JF_INT(struct inflate_job, gid, "gid", 0, 0, ID_MAX),
	JF_END,
};

/* What was written. */
struct inflated_file {
	uint64_t bytes;
	struct sha256 digest;
};

static int inflate_copy(struct source *s, int out, struct inflated_file *made, struct verdict *v)
{
	struct sha256_stream sum;
	const uint8_t *p;
	ssize_t n;

	sha256_begin(&sum);
	while ((n = source_peek(s, &p)) > 0) {
		int r = file_write_all(out, p, (size_t)n);

		if (r < 0)
			return fail_with(v, r, NULL, "writing the output");
		sha256_add(&sum, p, (size_t)n);
		source_take(s, (size_t)n);
		made->bytes += (uint64_t)n;
	}
	sha256_end(&sum, &made->digest);
	if (n == 0 && fdatasync(out) < 0)
		return fail_with(v, -errno, NULL, "writing the output");
	return (int)n;
}

static int inflate_into(int in, int out, const struct inflate_job *j, struct intact *intact,
			struct inflated_file *made, struct verdict *v)
{
	_cleanup_(source_closep) struct source *s = NULL;
	struct feed_limits limits = { (uint64_t)j->bytes, UNPACK_RATIO_MAX };
	enum archive_format format;
	int r = format_detect(in, ARCHIVE_UNKNOWN, &format, v);

	if (r == 0 && format != ARCHIVE_TAR_GZ && format != ARCHIVE_TAR_ZST)
		r = refuse(v, "FORMAT_NOT_ALLOWED", NULL, "only a tar.gz or tar.zst is inflated");
	if (r == 0)
		r = source_open(in, format, limits, intact, &s, v);
	return r < 0 ? r : inflate_copy(s, out, made, v);
}

static int inflate_intact(int in, int out, const struct inflate_job *j, struct inflated_file *made,
			  struct verdict *v)
{
	struct intact intact;
	struct sha256 want;

	if (!j->digest)
		return inflate_into(in, out, j, NULL, made, v);
	if (sha256_parse(slice_of(j->digest), &want) < 0)
		return bad_job(v, "PARAM_INVALID", "digest", "not sha256: and 64 hex digits");
	intact_begin(&intact, &want);
	return intact_end(&intact, in, inflate_into(in, out, j, &intact, made, v), v);
}

static int inflate_output(const struct inflate_job *j, struct inflated_file *made,
			  struct verdict *v)
{
	_cleanup_(closep) int in = open(j->archive, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_(closep) int out = -1;
	struct user user;
	int r = user_of(&user, j->uid, j->gid < 0 ? j->uid : j->gid, v);

	if (r < 0)
		return r;
	if (in < 0)
		return fail_with(v, -errno, NULL, j->archive);
	out = open(j->output, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (out < 0)
		return fail_with(v, -errno, NULL, j->output);
	alarm(UNPACK_SECS_MAX);
	r = confine_worker(&user, &(struct reach){ NULL, NULL }, (uint64_t)j->bytes, v);
	return r < 0 ? r : inflate_intact(in, out, j, made, v);
}

static int inflate_work(void *job, struct jw *w)
{
	struct inflate_job *j = job;
	struct inflated_file made = { 0 };
	int r = inflate_output(j, &made, &j->v);

	jw_uint(w, "bytes", made.bytes);
	jw_str(w, "digest", SHA256_TEXT_OF(&made.digest));
	return r;
}

enum unpack_exit inflate_job(struct slice line)
{
	struct inflate_job j = { .uid = -1, .gid = -1 };

	/* As a worker ends: the process is confined by now. */
	_exit(small_job_run(line, inflate_fields, false, &j, &j.v, inflate_work));
}
