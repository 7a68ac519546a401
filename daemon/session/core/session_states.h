/*
 * session_states.h - the states of a session, of its harness and of its turns: which may follow which, and why.
 *
 * The three setters are the only places that change a state. They hold each change against one table (session_states.c)
 * and write it to the log at level debug. A change that is not in the table is a defect of acpd: it is logged as an
 * error and taken all the same, since a session that stands still helps nobody; under AddressSanitizer it aborts.
 * daemon/README.md shows the table; a unit test compares.
 */
#pragma once

#include "session/core/session_internal.h"

enum state_machine { MACHINE_SESSION, MACHINE_HARNESS, MACHINE_TURN, MACHINE_MAX };

void session_set_state(struct session *s, enum session_state to);
void harness_set_state(struct session *s, enum harness_state to);
void turn_set_state(const struct session *s, struct session_turn *t, enum turn_state to);

/* Staying in a state is no change, and always allowed. */
bool state_change_known(enum state_machine machine, int from, int to);
/* The number of states, and the name of one. */
int state_count(enum state_machine machine);
const char *state_name(enum state_machine machine, int state);
/* The table as lines of markdown. */
void states_put_table(struct buf *ret);
