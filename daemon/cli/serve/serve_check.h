/*
 * serve_check.h - what of the configuration of `acpd serve` can be checked before anything is made. For serve itself, for
 * --check, and for doctor.
 */
#pragma once

#include "cli/options/cli_options.h"
#include "cli/serve/hosting.h"
#include "harnesses/registry.h"

/* -EINVAL and more, with e naming the option. Nothing stays of what is tried. */
int serve_check(const struct config *c, struct err *e);
/* Checks more, which a start only warns of: the file of MCP servers, and variables that nothing reads. Returns the number
 * of these servers, or -EINVAL. */
int serve_check_strictly(const struct config *c, hosting_warn_fn warn, void *ctx, struct err *e);
/* Parts of serve_check: --agent-user and --agent-uids; a directory, which can be made or written; all but these. */
int serve_check_users(const struct config *c, struct err *e);
int serve_check_dir(const char *option, const char *dir, struct err *e);
int serve_check_options(const struct config *c, struct err *e);
/* Those of the registry and of --harness-config. 0, or e names file and member, or --default-harness. */
int serve_harnesses(const struct config *c, struct harness_table *ret, struct err *e);
const char *serve_default_harness(const struct config *c, const struct harness_table *t);
/* "host:port" or "[v6]:port" into host (caller frees) and port. */
int serve_listen(const char *listen, char **host, int *port, struct err *e);
