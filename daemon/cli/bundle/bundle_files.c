/*
 * bundle_files.c - a bundle taken apart below a temporary directory, for replay.
 *
 * A bundle is untrusted. acpd-unpack extracts it and compares sizes and hashes with its manifest; only then are
 * its members read here.
 */
#include "cli/bundle/bundle_files.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "cli/archive/archive.h"
#include "json/jenc.h"
#include "session/parts/bundle/bundle_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bundle_unpack(const struct config *c, const char *file, const char *dir)
{
	_cleanup_(freep) char *archive = cli_absolute(file), *in = file_join(dir, "in");
	JW_BUF(w, job);
	int r;

	bundle_put_extract(&w, in, archive, NULL);
	r = run_unpack(c, "extract", buf_slice(&job), NULL);
	if (r != EXIT_DONE)
		return r;
	buf_reset(&job);
	w = (struct jw)JW(&job);
	jw_object(&w, NULL, JW_STR("root", in));
	return run_unpack(c, "bundle-check", buf_slice(&job), NULL);
}

int bundle_files_open(const struct config *c, const char *file, char **dir)
{
	const char *tmp = getenv("TMPDIR");
	struct config quietly = *c; /* what acpd-unpack answers is no answer of the command */

	quietly.json = false;
	*dir = file_join(tmp && *tmp ? tmp : "/tmp", "acpd-bundle.XXXXXX");
	if (!mkdtemp(*dir))
		return fail(EXIT_FAILED, "%s: %s", *dir, strerror(errno));
	return bundle_unpack(&quietly, file, *dir);
}

void bundle_files_remove(char *dir)
{
	if (dir)
		file_remove_tree(dir);
	free(dir);
}

char *bundle_file(const char *dir, const char *member)
{
	_cleanup_(freep) char *in = file_join(dir, "in");

	return file_join(in, member);
}

bool bundle_session_read(const char *dir, struct buf *text, struct slice *ret)
{
	_cleanup_(freep) char *path = bundle_file(dir, "session.json");
	struct jval v;

	text->max = BUNDLE_SESSION_MAX;
	if (file_read(path, BUNDLE_SESSION_MAX, text) == 0 &&
	    jscan_value(buf_slice(text), &v) == JSCAN_OK && v.type == J_OBJECT) {
		*ret = v.raw;
		return true;
	}
	return false;
}
