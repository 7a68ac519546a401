/* root_access_internal.h - what the parts of root_access.c share. */
#pragma once

#include "base/buf.h"
#include "base/util.h"
#include "proc/root/root_access.h"

struct root_access_user {
	const char *etc, *name;
	char uid[16], gid[16];
	struct buf groups; /* names, each with its NUL */
};

void root_access_add(struct root_access *w, const char *kind, const char *fmt, ...) _printf_(3, 4);
/* path as written in a file below /etc, for the directory that stands for it. The caller frees. */
char *root_access_path(const struct root_access_user *u, const char *base, const char *path);
/* fn gets each line of the file, with those that continue it joined; it may change it. A file that may not be read
 * is noted as unread. */
void root_access_lines(struct root_access *w, const char *path,
		       void (*fn)(void *ctx, char *line, const char *path), void *ctx);
bool root_access_in_group(const struct root_access_user *u, const char *name, size_t n);

void root_access_sudo(struct root_access *w, const struct root_access_user *u);
