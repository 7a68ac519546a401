#include "base/os/sandbox.h"

#include "base/os/file.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>

#define E2B_ID_FILE "/run/e2b/.E2B_SANDBOX_ID"
#define E2B_ID_VARIABLE "E2B_SANDBOX_ID"
#define ID_FILE_MAX 4096

/* In this order: a pod's container has the file of its engine, too. */
static const struct {
	const char *provider, *file, *variable; /* one sign of either kind is enough */
} signs[] = {
	{ "e2b", E2B_ID_FILE, NULL },
	{ "kubernetes", NULL, "KUBERNETES_SERVICE_HOST" },
	{ "podman", "/run/.containerenv", NULL },
	{ "docker", "/.dockerenv", NULL },
};

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

const char *sandbox_provider(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if ((signs[i].file && access(signs[i].file, F_OK) == 0) ||
		    (signs[i].variable && is_set(signs[i].variable)))
			return signs[i].provider;
	return NULL;
}

static bool take_word(const char *text, size_t n, char *ret, size_t room)
{
	size_t len = 0;

	while (len < n && len < room - 1 && (unsigned char)text[len] > ' ' &&
	       (unsigned char)text[len] < 0x7f)
		len++;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return len > 0;
}

static char given[SANDBOX_ID_MAX + 1];

bool sandbox_id_valid(const char *id)
{
	char word[SANDBOX_ID_MAX + 2];

	return take_word(id, strlen(id), word, sizeof(word)) && strcmp(word, id) == 0 &&
	       strlen(id) <= SANDBOX_ID_MAX;
}

void sandbox_id_set(const char *id)
{
	snprintf(given, sizeof(given), "%s", id ? id : "");
}

/* The file first: after a restore from a snapshot it is written anew, when the environment still has the old id. */
bool sandbox_id(char *ret, size_t room)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(closep) int fd = open(E2B_ID_FILE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *value = getenv(E2B_ID_VARIABLE);

	if (fd >= 0 && file_read_fd(fd, ID_FILE_MAX, &text) == 0 && buf_len(&text) &&
	    take_word(text.data, buf_len(&text), ret, room))
		return true;
	return take_word(given, strlen(given), ret, room) ||
	       (value && take_word(value, strlen(value), ret, room));
}
