/*
 * skill_internal.h - what the files of this folder share: findings, and the frontmatter as a tree.
 */
#pragma once

#include "skill/skill.h"

#include "base/limits.h"
#include "base/util.h"

/* Where a finding is; all members may be empty. */
struct skill_at {
	const char *field, *path;
	unsigned line;
	bool has_limit;
	uint64_t limit, used;
};

#define NOWHERE ((struct skill_at){ .line = 0 })
#define AT_FIELD(f, l) ((struct skill_at){ .field = (f), .line = (l) })
#define AT_PATH(p) ((struct skill_at){ .path = (p) })
/* p (may be NULL) has more than a limit allows. */
#define AT_LIMIT(p, most, n)                                                                       \
	((struct skill_at){ .path = (p), .has_limit = true, .limit = (most), .used = (n) })

void skill_note(struct skill_report *r, enum skill_severity severity, const char *code,
		struct skill_at at, const char *fmt, ...) _printf_(5, 6);

enum front_type { FRONT_SCALAR, FRONT_LIST, FRONT_MAP };

struct front_node {
	enum front_type type;
	bool plain; /* a scalar without quotes: a YAML reader may read it as something other than text */
	char *text; /* of a scalar */
	unsigned line;
	struct front_node *child, *next; /* children of a map: key, value, key, value, ... */
};

/* Legal YAML that the reference validator refuses: its first line in the file, or 0. */
enum front_extra { FRONT_FLOW, FRONT_ANCHOR, FRONT_TAG, FRONT_EXTRAS };

struct front_tree {
	struct front_node *nodes; /* [0] is the root */
	size_t n;
	unsigned extra[FRONT_EXTRAS];
};

/* Why it cannot be read. */
struct front_fault {
	const char *code;
	unsigned line;
	char msg[160];
};

/* Finds the text between the two lines "---" and what follows; false: a finding has the reason. */
bool front_split(struct slice file, struct slice *yaml, struct slice *body, struct skill_report *r);
/* yaml begins in the second line of the file. False: fault is filled. Free the tree in any case. */
bool front_parse(struct slice yaml, struct front_tree *ret, struct front_fault *fault);
void front_tree_done(struct front_tree *t);
/* Puts quotes around top-level values with a colon that YAML does not allow; false: there is none. */
bool front_quote(struct slice yaml, struct buf *ret);
/* Checks the fields. */
void skill_check_fields(const struct front_node *root, const char *dir, struct skill_report *r);
