/*
 * sandbox.c - detects the sandbox provider by the files and variables that it leaves, and stores
 * the sandbox's id.
 *
 * Three sources are stored separately, because each can be absent, stale or replaced on its own.
 * sandbox_id picks the first that is set. The id file is written by the provider, and can be
 * replaced by a FIFO or a large file: it is opened without blocking and read up to ID_FILE_MAX. The
 * previous id from the file is stored, too: a different one means that this machine is a copy.
 */
#include "base/os/sandbox.h"

#include "base/os/file.h"
#include "base/slice.h"
#include "base/util.h"

#define E2B_ID_VARIABLE "E2B_SANDBOX_ID"
#define ID_FILE_MAX 4096

/* In this order: a pod's container has the file of its engine, too. */
static const struct {
	const char *provider, *file, *variable; /* one sign of either kind is enough */
} signs[] = {
	{ "e2b", SANDBOX_ID_FILE, NULL },
	{ "kubernetes", NULL, "KUBERNETES_SERVICE_HOST" },
	{ "podman", "/run/.containerenv", NULL },
	{ "docker", "/.dockerenv", NULL },
};

static const char *id_file = SANDBOX_ID_FILE;
static char in_file[SANDBOX_ID_MAX + 1], claimed[SANDBOX_ID_MAX + 1],
	in_variable[SANDBOX_ID_MAX + 1], last_in_file[SANDBOX_ID_MAX + 1];

static bool variable_is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

const char *sandbox_provider(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if ((signs[i].file && access(signs[i].file, F_OK) == 0) ||
		    (signs[i].variable && variable_is_set(signs[i].variable)))
			return signs[i].provider;
	return NULL;
}

static bool is_of_id(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:-", c));
}

/* The first word, if it is an id. */
static bool sandbox_id_take(struct slice text, char *ret)
{
	size_t len = 0;

	while (len < text.n && is_of_id(text.p[len]))
		len++;
	if (!len || len > SANDBOX_ID_MAX || (len < text.n && (unsigned char)text.p[len] > ' '))
		return false;
	memcpy(ret, text.p, len);
	ret[len] = '\0';
	return true;
}

void sandbox_id_from(const char *path)
{
	id_file = path;
}

const char *sandbox_id_file(void)
{
	return id_file;
}

bool sandbox_id_valid(const char *id)
{
	char text[SANDBOX_ID_MAX + 1];

	return sandbox_id_take(slice_of(id), text) && strcmp(id, text) == 0;
}

void sandbox_id_set(const char *id)
{
	snprintf(claimed, sizeof(claimed), "%s", id ? id : "");
}

static void id_file_read(char *ret)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(closep) int fd = open(id_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || file_read_fd(fd, ID_FILE_MAX, &text) < 0 || !buf_len(&text) ||
	    !sandbox_id_take(buf_slice(&text), ret))
		ret[0] = '\0';
}

bool sandbox_id_refresh(void)
{
	bool other;

	id_file_read(in_file);
	if (!sandbox_id_take(slice_of(getenv(E2B_ID_VARIABLE)), in_variable))
		in_variable[0] = '\0';
	if (!in_file[0])
		return false;
	/* A file that appears for the first time proves nothing: a machine that boots gets it late. */
	other = last_in_file[0] && strcmp(last_in_file, in_file) != 0;
	memcpy(last_in_file, in_file, sizeof(in_file));
	return other;
}

const char *sandbox_id(void)
{
	const char *const ids[] = { in_file, claimed, in_variable };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (ids[i][0])
			return ids[i];
	return NULL;
}

const char *sandbox_id_in_file(void)
{
	return in_file[0] ? in_file : NULL;
}
