/* limits_agui.h - bounds of AG-UI (agui/); part of limits.h. */
#pragma once

/* clang-format off */
#define AGUI_BODY_MAX (8 * MIB)         /* a RunAgentInput */
#define AGUI_ID_MAX 256                 /* bytes of an id of a thread, a run, a message */
#define AGUI_MESSAGES_MAX 4096          /* of one input, and of the people of one thread */
#define AGUI_TOOLS_MAX 128              /* of a front end */
#define AGUI_RUNS_MAX 256               /* at a time */
#define AGUI_PIECE (64 * KIB)           /* of a session's events, in one turn of the loop */
#define AGUI_SNAPSHOT_MAX (4 * MIB)     /* MESSAGES_SNAPSHOT; of more nothing is sent */
#define AGUI_RESULT_MAX (1 * MIB)       /* text of a tool's result */
#define AGUI_CALLS_MAX 1024             /* open tool calls that a run knows of */
#define AGUI_HELD_MAX 64                /* of them held back: they may be to tools of the front end */
#define AGUI_HELD_ARGS_MAX (64 * KIB)   /* arguments of one that is held back */
#define AGUI_PLANS_MAX 32               /* plans with an id that a snapshot has */
#define AGUI_SUBAGENTS_MAX 256          /* that a run knows of */
#define AGUI_PENDING_MAX 64             /* open calls to the front end, of one thread */
#define AGUI_OVER_MAX 256               /* of calls to the front end that are over, of one thread */
#define AGUI_THREAD_FILE_MAX (4 * MIB)
#define AGUI_PROFILE_MAX (256 * KIB)    /* a file of --profile */
/* clang-format on */
