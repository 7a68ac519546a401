#include "unpack/snapshot/changes.h"

#include "json/jenc.h"

#include <stdio.h>
#include <sys/stat.h>

#define LISTED_BYTES (1 * MIB)
#define MARK_SIZE 17 /* hex digits, and NUL */

void changes_init(struct changes *c, bool wanted)
{
	*c = (struct changes){ .wanted = wanted };
	if (wanted)
		sha256_begin(&c->state);
}

/* "": there is nothing. */
static void make_mark(const struct index_entry *e, char mark[MARK_SIZE])
{
	char text[SHA256_HEX + 96], hex[SHA256_HEX];
	struct sha256 d;

	*mark = '\0';
	if (e->type == INDEX_NONE)
		return;
	sha256_hex(&e->digest, hex);
	if (e->type == INDEX_OMITTED)
		snprintf(text, sizeof(text), "%d %u %llu %lld %lld", e->type, e->mode,
			 (unsigned long long)e->size, (long long)e->mtime, (long long)e->ctime);
	else
		snprintf(text, sizeof(text), "%d %u %s", e->type, e->mode & S_IXUSR, hex);
	if (sha256_of(slice_of(text), &d) == 0)
		sha256_hex(&d, hex);
	snprintf(mark, MARK_SIZE, "%.16s", hex);
}

void changes_add(struct changes *c, const char *path, const struct index_entry *now)
{
	struct jw w = { &c->json, c->total > 0 };
	char mark[MARK_SIZE];

	if (!c->wanted)
		return;
	make_mark(now, mark);
	sha256_add(&c->state, path, strlen(path) + 1);
	sha256_add(&c->state, mark, strlen(mark) + 1);
	if (c->total++ >= CHANGES_MAX || buf_len(&c->json) > LISTED_BYTES)
		return;
	jw_arr(&w, NULL);
	jw_str(&w, NULL, path);
	jw_str(&w, NULL, mark);
	jw_end_arr(&w);
}

void changes_state(struct changes *c, char out[SHA256_HEX])
{
	struct sha256 d;

	sha256_end(&c->state, &d);
	sha256_hex(&d, out);
}

void changes_done(struct changes *c)
{
	buf_done(&c->json);
}
