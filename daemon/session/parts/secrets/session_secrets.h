/* session_secrets.h - what is secret for a session. */
#pragma once

struct session;

/* From what the session is set up with; what was a secret before stays one. */
void session_load_secrets(struct session *s);
