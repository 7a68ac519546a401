/* store_programs.c - the installed harnesses, as the store knows them. */
#include "session/core/store/store_internal.h"
#include "session/core/session_host.h"
#include "session/parts/programs/programs.h"
#include "session/parts/session_parts.h"

#include <stdlib.h>

/* For all sessions. */
struct store_programs {
	struct programs *known; /* NULL: nobody has asked yet */
};

static struct store_programs *store_programs_of(const struct session_store *st)
{
	return st->parts[PART_PROGRAMS];
}

/* Not before somebody asks: their bounds are those of the store's level, which a claim may set. */
struct programs *store_programs(struct session_store *st)
{
	struct store_programs *p = store_programs_of(st);
	struct programs_config c = { .harnesses = st->harnesses,
				     .prefix = HARNESS_PREFIX,
				     .path = getenv("PATH"),
				     .timeout_ms = VERSION_SECS * 1000 };

	if (!p->known) {
		c.bounds = store_bounds(st);
		p->known = programs_new(st->loop, st->procs, &c);
	}
	return p->known;
}

static void stop_programs(struct session_store *st)
{
	if (store_programs_of(st)->known)
		programs_stop(store_programs_of(st)->known);
}

static void free_programs(struct session_store *st)
{
	programs_free(store_programs_of(st)->known);
}

const struct session_part programs_part = {
	.name = "programs",
	.store_size = sizeof(struct store_programs),
	.store_stop = stop_programs,
	.store_free = free_programs,
};
