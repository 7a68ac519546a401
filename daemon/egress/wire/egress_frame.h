/*
 * egress_frame.h - what the daemon and acpd-proxy say to each other over their socket: frames (loop/frame_channel.h) whose
 * number is that of a door, the listener of one session. Pure; both sides use it.
 *
 *	to acpd-proxy	payload
 *	CONFIG		struct egress_settings; the first frame, once
 *	DOOR		struct egress_order; its listening socket comes along
 *	RULES		rules in the place of those it had: what was denied may be asked for again
 *	DENY		struct egress_notice: host, reason: those who wait for that host are refused
 *	SHUT		the door is closed, and all that came through it
 *
 *	from acpd-proxy
 *	READY		it is confined, and has taken CONFIG
 *	BLOCKED		struct egress_notice: host, port, reason
 *	ASK		struct egress_notice: host, port
 *	USED		struct egress_notice: host, up, down: bytes since the last time
 */
#pragma once

#include "base/buf.h"
#include "loop/frame_channel.h"
#include "egress/wire/egress_reason.h"
#include "egress/wire/egress_rules.h"

enum egress_frame_type {
	EGRESS_CONFIG = 1,
	EGRESS_DOOR,
	EGRESS_RULES,
	EGRESS_DENY,
	EGRESS_SHUT,
	EGRESS_READY,
	EGRESS_BLOCKED,
	EGRESS_ASK,
	EGRESS_USED,
	EGRESS_FRAME_MAX,
};

/* All of these are -EPROTO if the payload is none of its kind. Strings and rules are owned. */

struct egress_settings {
	char *allow;	 /* --upstream-allow, or NULL */
	char *resolvers; /* ADDRESS[:PORT],... instead of those of /etc/resolv.conf, or NULL */
};

void egress_settings_put(struct buf *b, const struct egress_settings *s);
int egress_settings_parse(struct slice payload, struct egress_settings *ret);
void egress_settings_done(struct egress_settings *s);

struct egress_order {
	int64_t uid; /* who may come; -1: anybody who can */
	struct egress_rules *rules;
};

void egress_order_put(struct buf *b, int64_t uid, const struct egress_rules *rules);
int egress_order_parse(struct slice payload, struct egress_order *ret);

/* The host of USED that stands for all beyond EGRESS_HOSTS_TOLD. */
#define EGRESS_OTHERS "*"

/* What a frame does not have is 0. host has been written by the sandboxed side: visible ASCII, but perhaps no host. */
struct egress_notice {
	char host[256];
	int port;
	enum egress_reason reason;
	int64_t up, down;
};

void egress_notice_put(struct buf *b, const struct egress_notice *n);
int egress_notice_parse(struct slice payload, struct egress_notice *ret);
