/*
 * stage_plan.h - what the sources of a job bring together: the rules that do not depend on an archive's format.
 *
 * A reader (tar.c, zip.c, or the job itself for single files) announces an entry with plan_entry(), then the content of
 * a file with plan_data() and plan_hole(), then plan_end(). The plan checks names (tree/path_rules.h), cuts them and
 * puts them below "into", counts against the limits, finds conflicts, and fills the manifest of what is staged
 * (tree/tree_manifest.h). The result goes to a writer: the staging tree (stage.c), or none if only the plan is needed
 * (a zip is planned before anything is written; the fuzz target).
 *
 * An entry whose whole name strip cuts away is STRIPPED. A directory among those is not reported: its entries are.
 */
#pragma once

#include "tree/held_tree.h"
#include "tree/path_rules.h"
#include "tree/tree_manifest.h"
#include "unpack/bytes/ring.h"
#include "unpack/commit/commit.h"
#include "unpack/job/verdict.h"

struct stage_writer_ops {
	int (*reserve)(void *ctx,
		       uint64_t bytes); /* that many will come: -ENOSPC if there is no room */
	/* All: 0 or a negative errno. Paths are relative, checked and of this plan. */
	int (*dir)(void *ctx, const char *path, mode_t mode); /* may be there */
	int (*create)(void *ctx, const char *path, mode_t mode);
	int (*write)(void *ctx, const void *p, size_t n); /* to the file created last */
	int (*hole)(void *ctx, uint64_t n);
	/* sb: what it is then, to be filled in; NULL: nobody asks */
	int (*finish)(void *ctx, uint64_t size, int64_t mtime, struct stat *sb);
	int (*hard)(void *ctx, const char *from, const char *path);
	int (*symlink)(void *ctx, const char *path, const char *target);
	int (*remove)(void *ctx, const char *path);
	int (*touch)(void *ctx, const char *path, int64_t mtime);
	int (*move)(void *ctx, const char *from, const char *path); /* nothing is there */
	int (*rmdir)(void *ctx, const char *path);
};

struct stage_sink {
	const struct stage_writer_ops *ops; /* NULL: nothing is written */
	void *ctx;
};

enum source_entry_type {
	ENTRY_FILE,
	ENTRY_DIR,
	ENTRY_SYMLINK,
	ENTRY_HARDLINK,
	ENTRY_DEVICE,
	ENTRY_FIFO,
	ENTRY_SOCKET,
};

struct source_entry {
	enum source_entry_type type;
	struct slice path, link;
	unsigned mode; /* with setuid, setgid and sticky */
	uint64_t size; /* of the whole file, holes too */
	int64_t mtime;
};

struct plan_limits {
	uint64_t entries, bytes, file_bytes, ratio, seconds;
	struct path_limits names;
};

#define PLAN_LIMITS_DEFAULT                                                                        \
	((struct plan_limits){ UNPACK_ENTRIES_MAX,                                                 \
			       UNPACK_BYTES_MAX,                                                   \
			       UNPACK_FILE_MAX,                                                    \
			       UNPACK_RATIO_MAX,                                                   \
			       UNPACK_SECS_MAX,                                                    \
			       { PATH_BYTES_MAX, PATH_DEPTH_MAX } })

/* What becomes of a symbolic link that leads out of the tree. */
enum link_rule {
	LINKS_REFUSE, /* the job is refused */
	LINKS_SKIP,   /* it is left out */
	LINKS_KEEP_INSIDE, /* so is it, but an absolute name of something in the tree becomes a relative one */
	LINK_RULES
};

struct plan_late {
	int64_t mtime;
	uint32_t node;
};

struct plan {
	const struct plan_limits *limits;
	struct stage_sink writer;
	struct verdict *v;
	enum link_rule links;
	const char *target; /* where the tree will be, for LINKS_KEEP_INSIDE */
	bool once; /* each name once: a second is refused, and does not replace the first */
	/* of the source that is read */
	unsigned strip;
	const char *into;   /* parsed, "" for none */
	uint64_t kept, cut; /* its entries: below "into", and cut away by strip */
	/* results */
	struct outcome *
		out; /* what strip cuts away, and links that are left out, are reported here; NULL: nowhere */
	struct manifest m;
	uint64_t seen, bytes;
	/* the entry at hand */
	struct checked_path name;
	uint32_t node;
	int64_t mtime;
	uint64_t left; /* bytes of its file that have not come */
	struct sha256_stream sum;
	struct seed *seed;	/* gets what files hold; NULL: nobody wants it */
	struct sums *sums;	/* NULL: digests are made at once */
	struct plan_late *late; /* directories whose time is set last */
	size_t nlate;
};

void plan_init(struct plan *p, const struct plan_limits *limits, struct stage_sink writer,
	       struct verdict *v);
void plan_done(struct plan *p);
/* 1: not wanted (cut away by strip): its content is skipped and there is no plan_end(). */
int plan_entry(struct plan *p, const struct source_entry *e);
int plan_data(struct plan *p, const void *bytes, size_t n);
int plan_hole(struct plan *p, uint64_t n);
int plan_end(struct plan *p);
int plan_finish(struct plan *p);
/* From now on files are hashed there, and their bytes have to stay (ring.h); NULL: at once again, with all digests in
 * the manifest. */
void plan_sums(struct plan *p, struct sums *sums);
/* So many bytes will come. */
int plan_reserve(struct plan *p, uint64_t bytes);

/* Finds where each symbolic link would lead in the plan's own tree, once all entries are there, and does with those that
 * lead out what p->links says. A link that is left out is gone, and so is a directory that only such links were in. */
int links_decide(struct plan *p);

/* The writer that makes a plan's tree below a held directory. */
struct stage {
	struct held h;
	int file;  /* being written */
	bool hole; /* at its end so far */
};

void stage_init(struct stage *s, int tree);
void stage_done(struct stage *s);
struct stage_sink stage_writer(struct stage *s);

/* stripped: how many components went. The source is the last that was read, and with STRIP_AUTO the only one so far. */
int strip_finish(struct plan *p, int64_t strip, uint64_t *stripped);
