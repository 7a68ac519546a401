#include "proc/level_means.h"

#include "base/util.h"
#include "confine/confine_machine.h"
#include "proc/spaces/netns.h"
#include "proc/spaces/shut_devices.h"
#include "proc/spaces/spaces.h"

static const char *why_privileges_grow(const struct level_ask *ask _unused_)
{
	return confine_machine_missing(MACHINE_NO_NEW_PRIVS);
}

static const char *why_no_filter(const struct level_ask *ask _unused_)
{
	return confine_machine_missing(MACHINE_FILTER);
}

/* Where we are not root no_new_privs does it: nothing can be gained by exec. */
static const char *why_full_bounding_set(const struct level_ask *ask _unused_)
{
	return geteuid() == 0 ? confine_machine_missing(MACHINE_BOUNDING) : NULL;
}

static const char *why_no_record(const struct level_ask *ask)
{
	return ask->log ? confine_machine_missing(MACHINE_LISTENER) : NULL;
}

static const char *why_no_network_namespace(const struct level_ask *ask _unused_)
{
	return netns_missing();
}

static const char *why_devices_open(const struct level_ask *ask)
{
	return shut_devices_missing(ask->level, ask->switched);
}

/* why returns NULL if it is available. */
static const struct {
	const char *what;
	enum confine_level from;
	const char *(*why)(const struct level_ask *ask);
} means[] = {
	{ "noNewPrivileges", LEVEL_GUARDED, why_privileges_grow },
	{ "seccomp", LEVEL_GUARDED, why_no_filter },
	{ "boundingSet", LEVEL_GUARDED, why_full_bounding_set },
	{ "log", LEVEL_GUARDED, why_no_record },
	{ "devices", LEVEL_GUARDED, why_devices_open },
	{ "networkNamespace", LEVEL_STRICT, why_no_network_namespace },
};

size_t level_means_lack(const struct level_ask *ask, level_lack_fn fn, void *ctx)
{
	const struct spaces_missing *m = ask->level == LEVEL_STRICT ? spaces_missing() : NULL;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		const char *why = means[i].from <= ask->level ? means[i].why(ask) : NULL;

		if (why && fn)
			fn(ctx, means[i].what, why);
		n += why != NULL;
	}
	if (m && fn) /* which of them it is they say themselves */
		fn(ctx, m->what, m->why);
	return n + (m != NULL);
}
