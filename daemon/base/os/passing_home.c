#include "base/os/passing_home.h"

#include "base/os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void passing_home_make(struct passing_home *h, bool give, uid_t uid, gid_t gid)
{
	snprintf(h->dir, sizeof(h->dir), "/tmp/acpd-asked-XXXXXX");
	if (!mkdtemp(h->dir))
		h->dir[0] = '\0';
	else if (give && chown(h->dir, uid, gid) < 0)
		passing_home_remove(h);
	snprintf(h->variable, sizeof(h->variable), "HOME=%s", *h->dir ? h->dir : "/nonexistent");
}

void passing_home_remove(struct passing_home *h)
{
	if (*h->dir)
		file_remove_tree(h->dir);
	h->dir[0] = '\0';
}
