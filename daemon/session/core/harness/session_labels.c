/* session_labels.c - the names of labels in JSON and in telemetry, from the one list in session_labels.h. */
#include "session/core/harness/session_labels.h"

#define NAME(id, name, attribute, instead, says) [LABEL_##id] = name,
#define ATTRIBUTE(id, name, attribute, instead, says) [LABEL_##id] = attribute,

const char *const session_label_names[LABEL_MAX] = { SESSION_LABELS(NAME) };
const char *const session_label_attributes[LABEL_MAX] = { SESSION_LABELS(ATTRIBUTE) };
