/*
 * held_keys.c - the secret headers of the daemon, each as one complete header line in locked
 * memory.
 *
 * The line is written directly into the locked block, so this code makes no other copy. A new key
 * replaces one of the same number only after its own memory was allocated. If memory cannot be
 * locked, the key is refused unless the settings allow unlocked memory. Each block is wiped before
 * it is freed.
 */
#include "fetch/fetch.h"

#include "base/os/locked.h"
#include "base/util.h"
#include "fetcher/wire/fetch_frame.h"

struct held_key {
	struct list link;
	uint32_t number;
	char *line;
	size_t size;
	bool locked;
};

void held_keys_init(struct held_keys *k)
{
	list_init(&k->keys);
}

static void key_free(struct held_key *k)
{
	list_del(&k->link);
	if (k->locked) {
		locked_free(k->line, k->size);
	} else {
		explicit_bzero(k->line, k->size);
		free(k->line);
	}
	free(k);
}

static bool give_line(struct held_key *k, bool unlocked)
{
	k->line = locked_alloc(k->size);
	k->locked = k->line;
	if (!k->line && unlocked)
		k->line = xalloc(k->size);
	return k->line;
}

static char *held_key_append(char *at, struct slice s)
{
	return (char *)mempcpy(at, s.p, s.n);
}

int held_keys_add(struct held_keys *all, uint32_t number, struct slice payload)
{
	struct slice name, prefix, value;
	struct held_key *k;
	char *at;

	if (fetch_key_parse(payload, &name, &prefix, &value) < 0)
		return -EPROTO;
	k = new0(struct held_key);
	list_init(&k->link);
	k->number = number;
	k->size = name.n + strlen(": ") + prefix.n + value.n + 1;
	if (!give_line(k, all->unlocked)) {
		free(k);
		return -ENOMEM;
	}
	at = held_key_append(k->line, name);
	at = held_key_append(at, SLICE(": "));
	at = held_key_append(at, prefix);
	held_key_append(at, value);
	held_keys_drop(all, number);
	list_add_tail(&all->keys, &k->link);
	return 0;
}

static struct held_key *held_key_find(const struct held_keys *all, uint32_t number)
{
	list_each(k, (struct list *)&all->keys, struct held_key, link)
		if (k->number == number)
			return k;
	return NULL;
}

void held_keys_drop(struct held_keys *all, uint32_t number)
{
	struct held_key *k = held_key_find(all, number);

	if (k)
		key_free(k);
}

void held_keys_done(struct held_keys *all)
{
	while (!list_empty(&all->keys))
		key_free(list_first(&all->keys, struct held_key, link));
}

const char *held_keys_line(const struct held_keys *all, uint32_t number)
{
	struct held_key *k = held_key_find(all, number);

	return k ? k->line : NULL;
}
