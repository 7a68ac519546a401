/*
 * mcpfile.h - reads and checks the servers of a configuration file; starts nothing.
 *
 * Two forms, distinguished by their member: {"mcpServers": {NAME: entry}} as in .mcp.json, and {"mcp_servers": [entry
 * with "name"], "env"} as in e2b-sandbox.config.json. An entry is {command, args, env, cwd} or {url, headers}, with
 * type (else it follows from those) and disabled. ${VAR} and ${VAR:-default} are replaced in command, args, env, cwd,
 * url and headers, only from the environment that the caller allows. A variable that is set to nothing counts as set,
 * and values are not expanded again.
 *
 * No function fails for the whole file. A fault becomes an issue that names entry and field. An error of an entry
 * leaves that entry unused (refused), an error of the file leaves no entries, a warning changes nothing. Texts of
 * issues hold names, never values.
 *
 * The .mcp.json of a workspace belongs to the user who works there: it is opened with that user's rights, only if it is
 * a regular file and no symbolic link, and never read beyond HOSTED_FILE_MAX.
 */
#pragma once

#include "base/err.h"
#include "proc/proc.h"
#include "base/slice.h"

enum mcpfile_transport { MCPFILE_STDIO, MCPFILE_HTTP };

struct mcpfile_pair {
	char *name, *value;
};

struct mcpfile_pairs {
	struct mcpfile_pair *at;
	size_t n;
};

struct mcpfile_entry {
	char *name;
	enum mcpfile_transport transport;
	bool disabled;		  /* and not checked any further */
	bool refused;		  /* an issue says why; what follows may be incomplete */
	char **argv;		  /* command and arguments, NULL-terminated */
	char *cwd;		  /* as written, perhaps relative; NULL: none */
	struct mcpfile_pairs env; /* of the file, then of the entry */
	char *url;		  /* http:// or https:// */
	struct mcpfile_pairs headers;
};

struct mcpfile_issue {
	bool warning;
	char *entry; /* its name; NULL: of the file */
	struct err why;
};

struct mcpfile {
	struct mcpfile_entry *entries;
	size_t n;
	struct mcpfile_issue *issues;
	size_t nissues, more_issues; /* those beyond HOSTED_ISSUES_MAX are only counted */
};

struct mcpfile_source {
	const char *path;
	bool foreign;		   /* of a workspace: no symbolic link, and missing is no issue */
	struct proc_bounds bounds; /* opened with the rights of its user */
};

/* env: "NAME=value" strings, NULL-terminated: what ${} may see. f is empty before; mcpfile_done frees it. */
void mcpfile_parse(struct mcpfile *f, struct slice text, char *const *env);
void mcpfile_read(struct mcpfile *f, const struct mcpfile_source *source, char *const *env);
void mcpfile_done(struct mcpfile *f);
/* The first error of the entry (NULL: of the file); NULL if there is none. */
const struct err *mcpfile_error(const struct mcpfile *f, const char *entry);

/* Adds an issue; entry may be NULL. */
void mcpfile_issue_add(struct mcpfile *f, bool warning, const char *entry, const struct err *why);
/* Fills out, whose name is set, from the entry's object. -EINVAL: refused, e says why. */
int mcpfile_entry_decode(struct mcpfile *f, struct mcpfile_entry *out, struct slice object,
			 char *const *env, struct err *e);
/* Reads an object of strings into pairs (added after those there), with values expanded. check: whether a name is
 * valid. */
int mcpfile_pairs_decode(struct mcpfile_pairs *p, struct slice object, const char *field,
			 bool (*check)(const char *name), char *const *env, struct err *e);
/* A name of an environment variable that is not the daemon's own. */
bool mcpfile_env_name_ok(const char *name);
/* text with its ${} replaced. -EINVAL: ENV_UNSET, EXPANSION_INVALID or FIELD_TOO_LONG of this field. */
int mcpfile_expand(const char *text, char *const *env, const char *field, char **ret,
		   struct err *e);
