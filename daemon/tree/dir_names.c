/*
 * dir_names.c - reads and sorts the names of one directory.
 *
 * The names are in one buffer, and what is sorted are their offsets: a directory may have as many names as its owner
 * likes, so each costs four bytes besides its text.
 */
#include "tree/dir_names.h"

#include "base/util.h"
#include "tree/held_tree.h"

void dir_names_done(struct dir_names *names)
{
	buf_done(&names->text);
	free(names->at);
}

static int dir_names_add(struct dir_names *names, const char *name)
{
	if (names->text.max && names->text.len + strlen(name) + 1 > names->text.max)
		return -E2BIG;
	*GROW(names->at, names->n) = (uint32_t)names->text.len;
	if (buf_add(&names->text, name, strlen(name) + 1) == 0)
		return 0;
	names->n--;
	return -ENOMEM;
}

static int dir_names_by_bytes(const void *a, const void *b, void *text)
{
	return strcmp((char *)text + *(const uint32_t *)a, (char *)text + *(const uint32_t *)b);
}

static int dir_names_read_all(DIR *d, int (*want)(void *ctx, const char *name), void *ctx,
			      struct dir_names *ret)
{
	const struct dirent *e;
	int r = 0;

	for (errno = 0; r >= 0 && (e = readdir(d)); errno = 0) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = want ? want(ctx, e->d_name) : 1;
		if (r > 0)
			r = dir_names_add(ret, e->d_name);
	}
	return r < 0 ? r : -errno;
}

int dir_names_read(int dir, int (*want)(void *ctx, const char *name), void *ctx,
		   struct dir_names *ret)
{
	DIR *d = held_list(dir);
	int r;

	if (!d)
		return -errno;
	r = dir_names_read_all(d, want, ctx, ret);
	closedir(d);
	if (ret->n > 1)
		qsort_r(ret->at, ret->n, sizeof(*ret->at), dir_names_by_bytes, ret->text.data);
	return r;
}
