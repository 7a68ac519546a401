/*
 * session_part.c - calls the hooks of the parts of a session, and places their state.
 *
 * The states of the parts lie in one block with the session, or with the store: it is allocated and freed as one, and a
 * state is found by one load.
 */
#include "session/core/session_part.h"

#include "session/core/session_internal.h"

static bool has_hook(const struct session_part *part, size_t hook)
{
	void (*fn)(void);

	/* Pointers to functions of different types have one representation here, but cannot be read through another
	 * type. */
	memcpy(&fn, (const char *)part + hook, sizeof(fn));
	return fn;
}

static const struct session_part **find_parts(size_t hook)
{
	const struct session_part **list = xalloc((session_parts_count + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < session_parts_count; i++)
		if (has_hook(session_parts[i], hook))
			list[n++] = session_parts[i];
	return list;
}

/* Hooks of a turn and of an update are called often, and most parts have none of them. */
const struct session_part *const *session_parts_with(size_t hook)
{
	static const struct session_part **lists[sizeof(struct session_part) / sizeof(void *)];
	const struct session_part ***list = &lists[hook / sizeof(void *)];

	if (!*list)
		*list = find_parts(hook);
	return *list;
}

/* States begin where any object may. */
static size_t part_room(size_t size)
{
	const size_t align = _Alignof(max_align_t);

	return (size + align - 1) / align * align;
}

/* member: offset in struct session_part of the size of a state. */
static size_t state_room(const struct session_part *part, size_t member)
{
	return part_room(*(const size_t *)((const char *)part + member));
}

void *session_parts_alloc(size_t owner, size_t parts, size_t member)
{
	/* The state of the first part begins after the owner, and its pointers to all of them. */
	const size_t begin = part_room(owner + session_parts_count * sizeof(void *));
	size_t size = begin;
	void **states;
	char *block;

	for (size_t i = 0; i < session_parts_count; i++)
		size += state_room(session_parts[i], member);
	block = xalloc(size);
	states = (void **)(block + parts);
	size = begin;
	for (size_t i = 0; i < session_parts_count; i++) {
		states[i] = block + size;
		size += state_room(session_parts[i], member);
	}
	return block;
}

/* Part after part, because that is the order of the members in the answer. */
void session_parts_put_opened(struct jw *w, const struct session *s)
{
	for (size_t i = 0; i < session_parts_count; i++) {
		if (session_parts[i]->put_opened)
			session_parts[i]->put_opened(w, s);
		if (session_parts[i]->put_status)
			session_parts[i]->put_status(w, s);
	}
}

unsigned session_parts_rules_need(const struct session *s)
{
	unsigned need = 0;

	for (const struct session_part *const *p = PARTS_WITH(rules_need); *p; p++)
		need |= (*p)->rules_need(s);
	return need;
}

int setup_check(const struct session_store *st, const struct harness_def *def,
		const struct setup *have, const struct setup_params *p, struct err *e)
{
	const struct setup_request r = { st, def, have, p };

	return PARTS_FIRST(check_setup, &r, e);
}
