#include "proc/spaces/seen_programs.h"

#include "base/util.h"

static void add_tools(struct fsview *v, const char *dir)
{
	if (*dir == '/')
		fsview_add(v, FSVIEW_TOOLS, dir, NULL);
}

/* The directory that a program is in; of a package of npm all packages, since it needs others. */
static void add_home_of(struct fsview *v, const char *file)
{
	static const char packages[] = "/node_modules/";
	_cleanup_(freep) char *path = xstrdup(file);
	char *end = strstr(path, packages);

	if (end)
		end += strlen(packages) - 1;
	else
		end = strrchr(path, '/');
	if (!end || end == path)
		return;
	*end = '\0';
	add_tools(v, path);
}

/* As it is called, and where it really is. */
void seen_program(struct fsview *v, const char *file)
{
	_cleanup_(freep) char *real = realpath(file, NULL);

	add_home_of(v, file);
	if (real)
		add_home_of(v, real);
}

void seen_path(struct fsview *v, const char *path)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");
		_cleanup_(freep) char *dir = xstrndup(path, n);

		add_tools(v, dir);
		path += n + (path[n] == ':');
	}
}

void seen_homes_hidden(struct fsview *v)
{
	static const char *const homes[] = { "/run", "/home", "/root" };
	const char *own = getenv("HOME");

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		fsview_add(v, FSVIEW_HIDDEN, homes[i], NULL);
	if (own && *own == '/' && own[1])
		fsview_add(v, FSVIEW_HIDDEN, own, NULL);
}
