/* session_parts.c - the table of the parts of a session, in the order of session_parts.h. */
#include "session/parts/session_parts.h"

#define ROW(id, name) [PART_##id] = &name##_part,

const struct session_part *const session_parts[] = { SESSION_PARTS(ROW) };
const size_t session_parts_count = ARRAY_SIZE(session_parts);
