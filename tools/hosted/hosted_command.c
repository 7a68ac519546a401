#include "tools/hosted/hosted_command.h"

#include "base/os/file.h"
#include "base/strv.h"
#include "proc/table/process_tree.h"
#include "session/core/session_paths.h"

#include <errno.h>
#include <sys/stat.h>

/* The caller's, the entry's, and what must not be changed. */
static void build_env(const struct hosted_server_config *c, struct harness_plan *plan)
{
	for (char *const *v = c->env; v && *v; v++) {
		_cleanup_(freep) char *name = xstrndup(*v, strcspn(*v, "="));

		harness_plan_env(plan, name, strchr(*v, '=') ? strchr(*v, '=') + 1 : "");
	}
	for (size_t i = 0; i < c->entry->env.n; i++)
		harness_plan_env(plan, c->entry->env.at[i].name, c->entry->env.at[i].value);
	harness_plan_env(plan, TREE_OWNER_ENV, tree_owner_mark());
	harness_plan_env(plan, TREE_SESSION_ENV, c->mark);
}

static char *below(const char *dir, const char *path)
{
	return path[0] == '/' ? xstrdup(path) : file_join(dir, path);
}

static char *find_program(const char *command, const char *cwd, const char *path)
{
	_cleanup_(freep) char *here = strchr(command, '/') ? below(cwd, command) : NULL;

	_cleanup_(freep) char *found = paths_find_command(here ? here : command, path);
	struct stat sb;

	/* a directory can be "executed", too */
	if (!found || found[0] != '/' || stat(found, &sb) < 0 || !S_ISREG(sb.st_mode))
		return NULL;
	return TAKE_PTR(found);
}

int hosted_command_build(const struct hosted_server_config *config, struct hosted_command *ret,
			 struct err *e)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	const struct mcpfile_entry *entry = config->entry;
	_cleanup_(freep) char *cwd = entry->cwd ? below(config->cwd, entry->cwd) :
						  xstrdup(config->cwd);
	_cleanup_(freep) char *program = NULL;

	build_env(config, &plan);
	program = find_program(entry->argv[0], cwd, harness_plan_getenv(&plan, "PATH"));
	if (!program) {
		err_field(e, "command", "COMMAND_NOT_FOUND", "no executable '%s' in the sandbox",
			  entry->argv[0]);
		return -ENOENT;
	}
	ret->argv = strv_copy(entry->argv);
	free(ret->argv[0]);
	ret->argv[0] = TAKE_PTR(program);
	ret->env = harness_plan_environ(&plan);
	ret->cwd = TAKE_PTR(cwd);
	return 0;
}

void hosted_command_done(struct hosted_command *c)
{
	strv_free(c->argv);
	harness_plan_free_environ(c->env);
	free(c->cwd);
	*c = (struct hosted_command){ 0 };
}
