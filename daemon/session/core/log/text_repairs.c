/* text_repairs.c - text of a session's parties that was not Unicode: counted as it enters, and told once in each turn. */
#include "session/core/session_internal.h"

#include "json/jenc.h"

static const char *const sources[TEXT_SOURCES] = {
	[TEXT_OF_CLIENT] = "client",
	[TEXT_OF_HARNESS] = "harness",
};

void session_text_repaired(struct session *s, enum text_source from, size_t places)
{
	s->log.repaired[from] += places;
}

void event_text_repaired(struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	bool any = false;

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "text_repaired");
	for (size_t i = 0; i < TEXT_SOURCES; i++) {
		if (!s->log.repaired[i])
			continue;
		jw_uint(&w, sources[i], s->log.repaired[i]);
		s->log.repaired[i] = 0;
		any = true;
	}
	if (any)
		event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}
