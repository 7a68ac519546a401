/*
 * adapter.h - what the targets of the adapters share: an adapter between a hostile program and the core. The input is a list of
 * lines, most of them the program's; one that starts with '!' is the core's turn:
 *
 *	p prompt   c cancel   t steer   o timer   m mode   a b answer the newest and the oldest question
 *	d the child's input is closed   and a letter for each row of settings
 *
 * First byte: how the session is opened (enum adapter_flag). What an adapter has no function for is left out.
 *
 * Whatever is written: every line sent is one message of the protocol, every update is valid ACP, every question is well-formed, usage is
 * told in the turn it belongs to, the session opens or fails at most once, and nothing is answered more often than asked.
 */
#pragma once

#include "fakehost.h"
#include "fuzz.h"

enum adapter_flag {
	F_ELICITATION = 1,
	F_RESTORE = 2,
	F_1 = 4,       /* F_1 to F_4: the target's own */
	F_OPENED = 8,  /* the program's lines up to ready come first */
	F_ANSWER = 16, /* every question is cancelled at once */
	F_2 = 32,
	F_3 = 64,
	F_4 = 128,
};

struct adapter_setting {
	char letter;
	const char *params; /* of set_config */
};

struct adapter_target {
	const struct harness_ops *ops;
	/* What the flags of its own mean; NULL: nothing. */
	void (*request)(unsigned flags, struct harness_req *req, struct fake *f);
	/* Of the line, without its end. */
	void (*check_sent)(struct slice message);
	const char *const
		*opening; /* ends with NULL; whatever the flags are, the session is ready after */
	const char *native_id; /* with F_RESTORE */
	const char *prompt, *answer;
	const struct adapter_setting *settings; /* ends with {0} */
};

int adapter_fuzz(const struct adapter_target *target, const uint8_t *data, size_t size);
/* A check_sent for programs that speak JSON-RPC. */
void adapter_check_rpc(struct slice message);
