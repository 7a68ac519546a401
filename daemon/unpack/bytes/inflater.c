#include "unpack/bytes/inflater.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct inflater_ops *inflater_choose(void)
{
	const char *wanted = getenv("ACPD_INFLATE");

	if (wanted && strcmp(wanted, inflater_zlib.name) == 0)
		return &inflater_zlib;
	return &inflater_isal && inflater_isal.usable() ? &inflater_isal : &inflater_zlib;
}

int inflater_open(struct inflater *i, const struct inflater_ops *ops)
{
	i->ops = ops;
	i->state = ops->make();
	return i->state ? 0 : -ENOMEM;
}

void inflater_close(struct inflater *i)
{
	if (i->state)
		i->ops->free(i->state);
	i->state = NULL;
}
