/* root_access_internal.h - what the parts of root_access.c share. */
#pragma once

#include "base/buf.h"
#include "base/util.h"
#include "proc/root/root_access.h"

struct rootways_user {
	const char *etc, *name;
	char uid[16], gid[16];
	struct buf groups; /* names, each with its NUL */
};

void rootways_add(struct rootways *w, const char *kind, const char *fmt, ...) _printf_(3, 4);
/* path as written in a file below /etc, for the directory that stands for it. The caller frees. */
char *rootways_path(const struct rootways_user *u, const char *base, const char *path);
/* fn gets each line of the file, with those that continue it joined; it may change it. A file that may not be read is noted as unread. */
void rootways_lines(struct rootways *w, const char *path,
		    void (*fn)(void *ctx, char *line, const char *path), void *ctx);
bool rootways_in_group(const struct rootways_user *u, const char *name, size_t n);

void rootways_sudo(struct rootways *w, const struct rootways_user *u);
