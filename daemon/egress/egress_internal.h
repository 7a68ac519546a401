/* egress_internal.h - the daemon's end of acpd-proxy: its runs (egress.c) and the doors (egress_door.c). */
#pragma once

#include "egress/egress.h"
#include "egress/wire/host_set.h"
#include "proc/standing.h"

struct egress {
	struct loop *loop;
	struct standing proxy; /* its run has the doors */
	struct egress_settings settings;
	struct list doors;
	unsigned ndoors;
	uint32_t last_door;
	struct loop_timer again; /* it has died, and there are doors */
};

struct egress_door {
	struct list link;
	struct egress *egress;
	uint32_t number;
	int fd;
	int64_t uid; /* -1: anybody */
	struct egress_rules *rules;
	const struct egress_ops *ops;
	void *ctx;
	struct host_set told;
	struct host_questions questions;
};

/* Starts it where there are doors, now or later. */
void egress_start(struct egress *x);

/* egress_door.c */
/* The run gets it. */
void egress_door_give(struct egress_door *d, struct standing_run *run);
/* A frame for one of the doors; <0: it is against the rules. */
int egress_take_frame(void *egress, struct standing_run *run, const struct frame *f);
