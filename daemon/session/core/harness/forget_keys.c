/* forget_keys.c - the sandbox is a copy of another one: what clients gave to the sessions of that one is not this one's. */
#include "session/core/session_internal.h"
#include "session/core/session_part.h"
#include "session/core/session_states.h"

/* A load that was under way has nobody who waits for it. */
static void forget(struct session *s)
{
	s->harness.forget = false;
	session_open_kept(s);
	setup_forget_keys(&s->setup);
	PARTS_CALL(forget_keys, s);
	PARTS_CALL(setup_changed, s);
}

void harness_keys_gone(struct session *s)
{
	if (s->harness.forget)
		forget(s);
}

void harness_forget_keys(struct session *s)
{
	PARTS_CALL(stop_helpers, s);
	if (!s->harness.proc) {
		forget(s);
		return;
	}
	s->harness.forget = true;
	if (s->harness.state != H_STOPPING)
		harness_set_state(s, H_STOPPING);
	proc_kill(s->harness.proc);
}

void store_forget_keys(struct session_store *st)
{
	list_each(s, &st->sessions, struct session, link)
		harness_forget_keys(s);
}
