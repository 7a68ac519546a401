/*
 * command_keeper.h - the small process between us and a command, so that everything that the command starts can be
 * found.
 *
 * A process that calls setsid, forks twice and clears its environment leaves no trace of its origin, except that its
 * parent becomes the nearest subreaper above. So each command gets a subreaper of its own: a fork of us, without exec.
 * It starts the command (proc/spawn.h), reaps everything below it, and kills everything below it when the command has
 * ended, when it is asked to, or when we are gone for any reason. It never runs code of others, blocks every signal
 * that can be blocked, and holds no descriptor but its socket. It exits when nothing is left below it; the end of its
 * socket shows that.
 *
 * It receives one int, a signal number: SIGKILL is for everything, others for the command's process group. From it
 * comes struct command_keeper_word.
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

/* Waits until the command has been started, or has failed to be. remove: a file that the keeper removes with the
 * command if we are gone by then; or NULL. */
int command_keeper_start(const struct proc_spec *spec, const char *remove,
			 struct command_keeper *ret, struct err *e);
/* A word that has come; 1: the keeper has gone; -EAGAIN: none yet. */
int command_keeper_read(int sock, struct command_keeper_word *ret);
void command_keeper_signal(int sock, int signo);
