/* agui_internal.h - what all runs share. */
#pragma once

#include "agui/agui.h"
#include "agui/agui_threads.h"

struct agui {
	struct loop *loop;
	struct session_store *store;
	struct acp_server *acp;
	char *profiles;
	struct agui_threads *threads;
	struct list links; /* struct agui_link */
	unsigned runs;
};
