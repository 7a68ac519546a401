/* proxy_world.h - what all doors and connections of acpd-proxy share. */
#pragma once

#include "egress/wire/egress_frame.h"
#include "loop/frame_channel.h"

struct proxy_world {
	struct loop *loop;
	struct frame_channel channel;
	struct egress_settings settings;
	int owners; /* base/os/sock_owner.h; <0: there is none */
	unsigned nconns;
};
