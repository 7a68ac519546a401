/*
 * fakehost.h - a core for one adapter under test: it keeps what the adapter sends and says as text, one line for each
 * call, in order, so that a test states the whole conversation:
 *
 *	send {"jsonrpc":"2.0",...}
 *	ready ID restored=0 caps=image,restore modes={...} options=[...]
 *	failed CODE REASON message
 *	event KIND {update} meta={...}
 *	ask N permission|elicitation {params}
 *	unask N
 *	usage call|turn input=N ...   timer MS
 *	end REASON                    end failed CLASS HTTP retryable=0 message
 *	reply TOKEN {result}          reply TOKEN error CODE message
 *
 * Lines go to the adapter as exact heap copies that are freed after the call: what it keeps must be its own.
 */
#pragma once

#include "base/buf.h"
#include "harnesses/harness.h"

struct fake {
	const struct harness_ops *ops;
	struct harness *h;
	struct buf log;
	int send_result;		 /* of every send; <0: the child does not read */
	const char *answer_at_once;	 /* given from within ask */
	const struct acp_quirks *quirks; /* of the definition */
	struct err err;			 /* of the last call that failed */
	unsigned rules;			 /* enum harness_rules */
	unsigned readies, failures, ends, asks;
};

/* req NULL: a new session in /ws. Opens and starts; returns what start returned. */
int fake_open(struct fake *f, const struct harness_ops *ops, const struct harness_req *req);
void fake_close(struct fake *f);
int fake_line(struct fake *f, struct slice line);
int fake_prompt(struct fake *f, const char *content, const char *meta);
/* A request for a new session; change what the test is about. */
struct harness_req fake_request(void);
/* initialize and session/new answered; the log is empty after. False: that did not lead to ready. */
bool fake_ready(struct fake *f, const struct harness_ops *ops, const struct harness_req *req);
