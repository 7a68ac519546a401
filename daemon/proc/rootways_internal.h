/* rootways_internal.h - what the parts of rootways.c share. */
#pragma once

#include "base/buf.h"
#include "base/util.h"
#include "proc/rootways.h"

struct rootways_user {
	const char *etc, *name;
	char uid[16], gid[16];
	struct buf groups; /* names, each with its NUL */
};

void rootways_add(struct rootways *w, const char *kind, const char *fmt, ...) _printf_(3, 4);
/* The file as NUL-terminated text; false: it is not there. One that may not be read is noted as unread. */
bool rootways_text(struct rootways *w, const char *path, struct buf *ret);
/* path as written in a file below /etc, for the directory that stands for it. The caller frees. */
char *rootways_path(const struct rootways_user *u, const char *base, const char *path);
/* The next line with those that continue it joined; NULL at the end. Changes the text. */
char *rootways_line(char **rest);
bool rootways_in_group(const struct rootways_user *u, const char *name, size_t n);

void rootways_sudo(struct rootways *w, const struct rootways_user *u);
