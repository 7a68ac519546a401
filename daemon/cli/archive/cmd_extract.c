/* cmd_extract.c - `acpd archive extract`: the extraction path of the daemon from the command line; acpd-unpack
 * does the work. */
#include "cli/archive/run_unpack.h"

#include "json/jenc.h"

#include <pwd.h>
#include <stdio.h>

static void write_job(struct buf *b, const struct config *c)
{
	_cleanup_(freep) char *archive = cli_absolute(c->args[0]),
			      *target = cli_absolute(c->args[1]);
	struct passwd *pw = c->uid < 0 ? NULL : getpwuid((uid_t)c->uid);
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "target", target);
	if (c->uid >= 0)
		jw_int(&w, "uid", c->uid);
	if (pw)
		jw_int(&w, "gid", pw->pw_gid);
	jw_str(&w, "links", c->links);
	jw_arr(&w, "sources");
	jw_obj(&w, NULL);
	jw_str(&w, "archive", archive);
	jw_int(&w, "strip", c->strip);
	jw_end_obj(&w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

static int print_done(const struct config *c, struct slice done)
{
	if (c->json)
		return EXIT_DONE;
	printf("written %lld files, %lld bytes\n", cli_number_of(done, "written"),
	       cli_number_of(done, "bytes"));
	cli_print_skipped(done);
	return EXIT_DONE;
}

int cmd_archive_extract(const struct config *c)
{
	_cleanup_(buf_done) struct buf job = { 0 };

	if (!*c->args[0] || !*c->args[1])
		return fail(EXIT_USAGE, "an empty path");
	write_job(&job, c);
	return cli_helper(c, "extract", buf_slice(&job), print_done);
}
