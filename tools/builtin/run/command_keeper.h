/*
 * command_keeper.h - the small process between us and a command, so that whatever the command starts is known to be
 * its own.
 *
 * A process that calls setsid, forks twice and clears its environment leaves no trace of where it came from, except
 * that it is handed to the nearest subreaper above. So each command gets one of its own: a fork of us, without exec,
 * that starts the command (proc/spawn.h), reaps everything that ends up below it, and kills everything below it when
 * the command has ended, when it is asked to, or when we are gone, however we went. It never runs code of others,
 * blocks every signal that can be blocked, holds no descriptor but its socket, and is gone when nothing is left below
 * it: the end of its socket says so.
 *
 * To it goes one int, a signal number: SIGKILL is for everything, others for the command's process group. From it
 * come keeper_words.
 */
#pragma once

#include "base/err.h"
#include "proc/spawn.h"

enum command_keeper_kind {
	KEEPER_STARTED, /* with the three descriptors */
	KEEPER_FAILED,	/* code: negative errno; reason, msg */
	KEEPER_EXITED,	/* the command has ended: code is its wait status */
};

struct command_keeper_word {
	enum command_keeper_kind kind;
	int code;
	pid_t pid;	 /* of the command */
	unsigned left;	 /* processes that it left behind, which are being killed */
	uint64_t cpu_us; /* of the command and of those it waited for */
	char reason[40], msg[ERR_MSG_SIZE];
};

struct command_keeper {
	pid_t pid; /* to be reaped by us */
	int sock;
	struct spawned command; /* its pidfd is -1: the pid belongs to the keeper */
};

/* Waits until the command has been started, or has failed to be. remove: a file that goes with the command if we are
 * gone by then; or NULL. */
int command_keeper_start(const struct proc_spec *spec, const char *remove,
			 struct command_keeper *ret, struct err *e);
/* A word that has come; 1: the keeper has gone; -EAGAIN: none yet. */
int command_keeper_read(int sock, struct command_keeper_word *ret);
void command_keeper_signal(int sock, int signo);
