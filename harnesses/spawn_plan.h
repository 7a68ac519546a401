/* spawn_plan.h - the argv and environment that an adapter's plan builds; read by the core when it spawns. */
#pragma once

#include "harnesses/harness.h"

struct harness_plan {
	char **argv; /* NULL-terminated once anything was added */
	size_t nargs;
	struct harness_env *env;
	size_t nenv;
	struct harness_env *files; /* name: path below the home; value: text, NULL for a directory */
	size_t nfiles;
	struct harness_env *programs; /* the same, of what is written at every start */
	size_t nprograms;
};

void harness_plan_done(struct harness_plan *p);
/* Value of a variable set so far, or NULL. */
const char *harness_plan_getenv(const struct harness_plan *p, const char *name);
/* Sets each variable of an array of "NAME=value"; it may be NULL. */
void harness_plan_add_environ(struct harness_plan *p, char *const *environ_list);
/* "NAME=value" strings, NULL-terminated; caller frees with harness_plan_free_environ. */
char **harness_plan_environ(const struct harness_plan *p);
void harness_plan_free_environ(char **environ_list);
