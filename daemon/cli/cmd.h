/* cmd.h - the subcommands, and the one table of exit codes. */
#pragma once

#include "cli/options/cli_options.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_REFUSED = 3, /* by policy, safety or the model */
	EXIT_BUDGET = 4,
	EXIT_CANCELLED = 5,
	EXIT_UNREACHABLE = 6, /* no daemon, or the daemon is not claimed */
	/* from 10 on: a kind of trouble that doctor found (cli/doctor/finding.c) */
};

int cmd_serve(const struct config *c);
int cmd_acp(const struct config *c);
int cmd_run(const struct config *c);
int cmd_claim(const struct config *c);
int cmd_sessions(const struct config *c);
int cmd_restart(const struct config *c);
int cmd_tokens_mint(const struct config *c);
int cmd_tokens_list(const struct config *c);
int cmd_tokens_revoke(const struct config *c);
int cmd_doctor(const struct config *c);
int cmd_ui(const struct config *c);
int cmd_openapi(const struct config *c);
int cmd_usage(const struct config *c);
int cmd_usage_verify(const struct config *c);
int cmd_archive_put(const struct config *c);
int cmd_archive_have(const struct config *c);
int cmd_archive_get(const struct config *c);
int cmd_archive_list(const struct config *c);
int cmd_archive_rm(const struct config *c);
int cmd_archive_extract(const struct config *c);
int cmd_bundle_export(const struct config *c);
int cmd_bundle_import(const struct config *c);
int cmd_bundle_replay(const struct config *c);
int cmd_bundle_rerun(const struct config *c);
int cmd_stats(const struct config *c);
int cmd_skills_validate(const struct config *c);
int cmd_mcp(const struct config *c);
int cmd_check(const struct config *c);
int cmd_confine_try(const struct config *c);
int cmd_harness_list(const struct config *c);
int cmd_harness_install(const struct config *c);
int cmd_harness_verify(const struct config *c);
int cmd_entrypoint(const struct config *c);

/* What a command says whose call of the control socket failed. */
struct err;
int control_failed(int r, const struct err *e);

/* shim.c: `acpd mcp` without --builtin. */
int shim_run(void);

/* "acpd: text" on standard error; returns code. */
int fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
