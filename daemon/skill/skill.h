/*
 * skill.h - Agent Skills (agentskills.io): what a SKILL.md says, and what is wrong with a skill.
 *
 * A skill is a directory with a SKILL.md: YAML between two lines "---", then Markdown. skill_check_file checks the
 * bytes of that file, skill_check_listing the names, types and sizes of the whole directory, skill_check_dir a
 * directory on disk with both. Each adds findings to one report, which answers two questions:
 *
 *	valid	no finding is an error: the format's text and its reference validator have nothing to say against it
 *	usable	no finding is fatal: clients are advised to load such a skill, with the other findings as warnings. Fatal
 *		are only a frontmatter that cannot be read, a missing description, and a directory that must not be
 *		installed
 *
 * These functions do not write, follow no symbolic link, and trust no length. Only the helper acpd-unpack and tests
 * link them (libyaml). README.md beside this file has the rules with their codes, and the differences from the
 * reference validator. A report owns all it holds; strings of struct skill are NULL where the file has no value. No
 * function fails for bad input: that is a finding.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jenc.h"

enum skill_severity { SKILL_WARNING, SKILL_ERROR, SKILL_FATAL };

struct skill_finding {
	enum skill_severity severity;
	const char *code; /* UPPER_SNAKE, static */
	char *field;	  /* key of the frontmatter ("metadata.version"), or NULL */
	char *path;	  /* file of the skill, or NULL */
	unsigned line;	  /* of SKILL.md, from 1; 0: none */
	bool has_limit;
	uint64_t limit, used;
	char *message; /* one line */
};

struct skill_pair {
	char *key, *value;
};

struct skill {
	char *name, *description, *license, *compatibility, *allowed_tools;
	struct skill_pair *metadata;
	size_t nmetadata;
	char **unknown; /* keys that the format does not have */
	size_t nunknown;
};

struct skill_report {
	bool valid, usable;
	struct skill skill;
	struct skill_finding *findings;
	size_t n, left_out;    /* beyond SKILL_FINDINGS_MAX they are only counted */
	uint64_t files, bytes; /* of the listing */
};

struct skill_limits {
	uint64_t files, bytes;
};

#define SKILL_LIMITS_DEFAULT ((struct skill_limits){ SKILL_FILES_MAX, SKILL_BYTES_MAX })

enum skill_entry_type { SKILL_ENTRY_FILE, SKILL_ENTRY_DIR, SKILL_ENTRY_SYMLINK, SKILL_ENTRY_OTHER };

struct skill_entry {
	char *path; /* relative to the skill, without "." and ".." */
	enum skill_entry_type type;
	uint64_t size;
	unsigned mode;
	char *target; /* of a symbolic link */
};

void skill_report_init(struct skill_report *r);
void skill_report_done(struct skill_report *r);
/* Writes the findings as members of the open object: valid, usable, name, ..., findings. */
void skill_report_put(const struct skill_report *r, struct jw *w);

/* file: its bytes. dir: name of the skill's directory, which the skill's name must match; NULL: unknown. */
void skill_check_file(struct slice file, const char *dir, struct skill_report *r);
/* entries: all that is below the skill's directory, in any order; paths are unique. */
void skill_check_listing(const struct skill_entry *entries, size_t n,
			 const struct skill_limits *limits, struct skill_report *r);
/*
 * A directory on disk: its listing and its SKILL.md, opened only below dirfd and through no symbolic link. <0: it
 * could not be read (e says what); the report is then incomplete.
 */
int skill_check_dir(int dirfd, const char *dir, const struct skill_limits *limits,
		    struct skill_report *r, struct err *e);
