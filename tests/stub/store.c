/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file memory: one append-only file of JSON lines per session, {"k":"new"|"user"|"upd","v":…}.
 * No descriptor stays open, so that the directive "fds" shows only what was inherited.
 */
#include "stub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *store_dir(void)
{
	static char dir[4096];
	const char *home = getenv("HOME");

	if (set.no_store)
		return NULL;
	if (set.store)
		return set.store;
	if (!home || home[0] != '/')
		return NULL;
	snprintf(dir, sizeof(dir), "%s/.stub-agent", home);
	return dir;
}

bool store_usable(void)
{
	return store_dir() != NULL;
}

static bool store_path(char *path, size_t size, const char *id)
{
	const char *dir = store_dir();

	if (!dir || !id[0] || strchr(id, '/') || strlen(id) > 200)
		return false;
	return snprintf(path, size, "%s/%s.jsonl", dir, id) < (int)size;
}

void store_add(const struct session *s, const char *kind, const char *json)
{
	struct buf b = { 0 };
	char path[4400];
	int fd;

	if (!store_path(path, sizeof(path), s->id))
		return;
	mkdir(store_dir(), 0700);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	buf_printf(&b, "{\"k\":\"%s\",\"v\":", kind);
	buf_str(&b, json);
	buf_str(&b, "}\n");
	if (write(fd, b.p, b.len) != (ssize_t)b.len)
		dprintf(2, "stub: store: %s\n", strerror(errno));
	close(fd);
	buf_free(&b);
}

static void replay_user(struct session *s, const char *text)
{
	struct buf b = { 0 };

	buf_str(&b,
		"{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":");
	buf_json(&b, text);
	buf_add(&b, "}}", 3); /* with its NUL */
	emit(s, false, b.p);
	buf_free(&b);
}

static void load_line(struct session *s, const char *line, bool replay)
{
	cJSON *o = cJSON_Parse(line);
	const char *k = cJSON_GetStringValue(cJSON_GetObjectItem(o, "k"));
	const cJSON *v = cJSON_GetObjectItem(o, "v");
	char *text;

	if (k && strcmp(k, "user") == 0 && cJSON_IsString(v)) {
		session_remember(s, v->valuestring);
		if (replay)
			replay_user(s, v->valuestring);
	} else if (k && strcmp(k, "upd") == 0 && replay) {
		text = cJSON_PrintUnformatted(v);
		emit(s, false, text);
		free(text);
	}
	cJSON_Delete(o);
}

int store_load(struct session *s, bool replay)
{
	char path[4400], *line = NULL;
	size_t cap = 0;
	FILE *f;

	f = store_path(path, sizeof(path), s->id) ? fopen(path, "re") : NULL;
	if (!f)
		return -ENOENT;
	while (s->pasts)
		free(s->past[--s->pasts]);
	while (getline(&line, &cap, f) > 0)
		load_line(s, line, replay);
	free(line);
	fclose(f);
	return 0;
}

void store_delete(const char *id)
{
	char path[4400];

	if (store_path(path, sizeof(path), id))
		unlink(path);
}

void store_copy(const char *from, const char *to)
{
	char a[4400], b[4400], data[4096];
	ssize_t n;
	int in, fd;

	if (!store_path(a, sizeof(a), from) || !store_path(b, sizeof(b), to))
		return;
	in = open(a, O_RDONLY | O_CLOEXEC);
	fd = open(b, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (in >= 0 && fd >= 0 && (n = read(in, data, sizeof(data))) > 0) {
		if (write(fd, data, (size_t)n) != n)
			break;
	}
	if (in >= 0)
		close(in);
	if (fd >= 0)
		close(fd);
}

static void list_one(struct buf *b, const char *dir, const char *file, const char *want)
{
	char path[4700], *line = NULL;
	size_t cap = 0;
	const char *cwd;
	cJSON *o = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (!f)
		return;
	if (getline(&line, &cap, f) > 0)
		o = cJSON_Parse(line);
	cwd = cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "v"), "cwd"));
	if (cwd && (!want || strcmp(want, cwd) == 0)) {
		buf_printf(b, "%s{\"sessionId\":\"%.*s\",\"cwd\":", b->len ? "," : "",
			   (int)(strlen(file) - 6), file);
		buf_json(b, cwd);
		buf_str(b, "}");
	}
	cJSON_Delete(o);
	free(line);
	fclose(f);
}

void store_list(struct buf *b, const char *cwd)
{
	const char *dir = store_dir();
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n > 6 && strcmp(e->d_name + n - 6, ".jsonl") == 0)
			list_one(b, dir, e->d_name, cwd);
	}
	if (d)
		closedir(d);
}
