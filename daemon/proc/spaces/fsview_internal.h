/* fsview_internal.h - the list that fsview.c makes and fsview_mount.c carries out. */
#pragma once

#include "proc/spaces/fsview.h"

#define FSVIEW_ROOT (-1)

struct fsview_place {
	enum fsview_kind kind;
	bool alias;   /* another name of a place: needed only where its links are not to be seen */
	bool out;     /* must not be seen */
	char *path;   /* absolute, plain */
	char *source; /* absolute, without links; NULL: nothing, an empty directory */
	int over;     /* the place that it lies in, or FSVIEW_ROOT */
	int fd;	      /* in the child: of its mount */
};

struct fsview {
	struct fsview_place
		*place; /* once settled: what is to be mounted, an outer one before those in it */
	size_t n;
	const char *const *shut; /* NULL: none */
};
