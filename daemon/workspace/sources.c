#include "workspace/sources.h"

#include "base/os/file.h"

#include <stdio.h>
#include <sys/stat.h>

static const struct {
	const char *member, *reason, *text;
} skill_sources[] = {
	[SKILL_ARCHIVE] = { "archive", "ARCHIVE_NOT_FOUND",
			    "there is no such archive; upload it first" },
	[SKILL_BUILTIN] = { "builtin", "SKILL_NOT_FOUND", "this daemon has no such skill" },
	[SKILL_PATH] = { "path", "SKILL_NOT_FOUND", "there is no such directory" },
};

static bool is_whole(const struct workspaces *ws, const struct sha256 *digest)
{
	struct archive_info info;

	return archive_find(ws->archives, digest, &info) && info.whole;
}

char *sources_skill_path(const struct workspaces *ws, const struct request_skill *s)
{
	if (s->source == SKILL_PATH)
		return xstrdup(s->name);
	return ws->builtin_dir ? file_join(ws->builtin_dir, s->name) : NULL;
}

static bool is_there(const struct workspaces *ws, const struct request_skill *s)
{
	_cleanup_(freep) char *path = NULL;
	struct stat sb;

	if (s->source == SKILL_ARCHIVE)
		return is_whole(ws, &s->digest);
	path = sources_skill_path(ws, s);
	return path && stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

int sources_check(const struct workspaces *ws, const struct request *r, const char *prefix,
		  struct err *e)
{
	char field[128];

	snprintf(field, sizeof(field), "%sworkspace.archive", prefix);
	if (r->has_archive && !is_whole(ws, &r->archive))
		return err_field(e, field, "ARCHIVE_NOT_FOUND", "%s: %s", field,
				 skill_sources[SKILL_ARCHIVE].text);
	for (size_t i = 0; i < r->nskills; i++) {
		enum skill_source from = r->skills[i].source;

		if (is_there(ws, &r->skills[i]))
			continue;
		snprintf(field, sizeof(field), "%sskills[%zu].%s", prefix, i,
			 skill_sources[from].member);
		return err_field(e, field, skill_sources[from].reason, "%s: %s", field,
				 skill_sources[from].text);
	}
	return 0;
}
