#include "proc/machine/proc_text.h"

#include "base/util.h"

#include <fcntl.h>

bool proc_text_read(const char *path, struct proc_text *ret)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && at < METRIC_FILE_BYTES) {
		n = read(fd, ret->text + at, METRIC_FILE_BYTES - at);
		at += n > 0 ? (size_t)n : 0;
	}
	ret->text[at] = '\0';
	return n >= 0;
}
