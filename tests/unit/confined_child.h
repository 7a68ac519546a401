/*
 * confined_child.h - a child that confines itself and then tries something. What it found is its exit status, so it can
 * say so under any list of calls.
 */
#pragma once

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>

/* What act returns, which has to be below 128; a child that died of a signal: 128 and its number. */
static inline int child_result(int (*act)(const void *), const void *ctx)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(act(ctx));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* 0, or the errno of a call that answered r. */
static inline int outcome(long r)
{
	return r < 0 ? errno : 0;
}
