/*
 * session_world.h - what lies beneath a session, held still: the clock, the timers, the child of the harness, the sync of
 * the usage ledger, the writing of a workspace and the commands of checks. The linker puts these functions in the place of the product's
 * (WORLD_WRAPS in unit.mk); until world_begin they only pass on, so that all other tests of the program have the real ones.
 *
 * Nothing happens by itself. Time stands still but for world_fire; a child lives until world_exit, whatever it is sent; a
 * record becomes durable with world_sync, a workspace written with world_written.
 */
#pragma once

#include "harnesses/harness.h"
#include "loop/loop.h"
#include "workspace/materialize.h"

void world_begin(struct loop *loop);
void world_end(void);

/* The earliest timer for which ours is true; NULL: none is armed. */
struct loop_timer *world_next(bool (*ours)(const void *ctx, const struct loop_timer *t),
			      const void *ctx);
/* Time goes on until t is due, and it fires. */
void world_fire(struct loop_timer *t);
/* Calls fn for each armed timer, the earliest first. */
void world_each_timer(void (*fn)(void *ctx, const struct loop_timer *t), void *ctx);

/* Tasks that have been deferred since the loop last began to run them; restless: they would go on for ever. */
unsigned world_tasks(void);
bool world_restless(void);

/* The child of the harness, if it lives; and what was done to it. */
bool world_alive(void);
bool world_stopped(void);
/* It writes a line; it ends. */
void world_line(const char *line);
void world_exit(int code);

/* Waiters for the ledger; and what has been appended is durable, or cannot be (-errno). */
unsigned world_unsynced(void);
void world_sync(int error);

/* A workspace is being written; aborted: nobody wants it any more. It is written, or refused with this reason. */
bool world_writing(void);
bool world_write_aborted(void);
void world_written(const char *reason);
/* The command of a check runs; it ends, and what it says is that the check holds or not. */
bool world_checking(void);
void world_checked(bool ok);
/* The next write does not begin. */
void world_refuse_write(bool refuse);
