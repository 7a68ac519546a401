#include "proc/level_means.h"

#include "base/util.h"
#include "confine/confine_machine.h"
#include "proc/netns.h"
#include "proc/spaces/spaces.h"

#include <unistd.h>

static const char *why_privileges_grow(bool log _unused_)
{
	return confine_machine_missing(MACHINE_NO_NEW_PRIVS);
}

static const char *why_no_filter(bool log _unused_)
{
	return confine_machine_missing(MACHINE_FILTER);
}

/* Where we are not root no_new_privs does it: nothing can be gained by exec. */
static const char *why_full_bounding_set(bool log _unused_)
{
	return geteuid() == 0 ? confine_machine_missing(MACHINE_BOUNDING) : NULL;
}

static const char *why_no_record(bool log)
{
	return log ? confine_machine_missing(MACHINE_LISTENER) : NULL;
}

static const char *why_no_network_namespace(bool log _unused_)
{
	return netns_missing();
}

/* why says NULL if it can be had. */
static const struct {
	const char *what;
	enum confine_level from;
	const char *(*why)(bool log);
} means[] = {
	{ "noNewPrivileges", LEVEL_GUARDED, why_privileges_grow },
	{ "seccomp", LEVEL_GUARDED, why_no_filter },
	{ "boundingSet", LEVEL_GUARDED, why_full_bounding_set },
	{ "log", LEVEL_GUARDED, why_no_record },
	{ "networkNamespace", LEVEL_STRICT, why_no_network_namespace },
};

size_t level_means_lack(enum confine_level level, bool log, level_lack_fn fn, void *ctx)
{
	const struct spaces_missing *m = level == LEVEL_STRICT ? spaces_missing() : NULL;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		const char *why = means[i].from <= level ? means[i].why(log) : NULL;

		if (why && fn)
			fn(ctx, means[i].what, why);
		n += why != NULL;
	}
	if (m && fn) /* which of them it is they say themselves */
		fn(ctx, m->what, m->why);
	return n + (m != NULL);
}
