/*
 * overlay.h - an overlay file system: a directory is seen at another place, and what is changed there goes into a third.
 *
 * It needs root, with CAP_SYS_ADMIN for the mount and CAP_FOWNER, since the kernel works beneath it with the rights of who
 * mounted it: without that one nobody but root could change a mode. Renamed directories stay renames (redirect_dir). All
 * directories are handed over as descriptors, so nothing of a path can be taken for an option.
 */
#pragma once

#include "base/err.h"

struct overlay_spec {
	int lower; /* what is seen; only ever read */
	const char *
		upper; /* where changes go; on a file system that has trusted attributes and whiteouts */
	const char *work; /* empty, on the same */
	const char *at;
};

/* 0; -errno with e, without a reason: the message says what cannot be had. */
int overlay_mount(const struct overlay_spec *spec, struct err *e);
/* What is mounted at path, and below; whoever works there goes on until he is gone. Nothing there is success. */
void overlay_unmount(const char *path);
/* Mounts made in dir from now on are seen by nobody else who shares its tree. 0 or -errno. */
int overlay_make_private(const char *dir);
