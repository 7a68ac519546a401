/*
 * limits_tools.h - the part of limits.h that is about tools: MCP servers, the built-in tools, policies. Include limits.h.
 */
#pragma once

/* clang-format off */
/* MCP */
#define UPCALLS_MAX 256                 /* MCP requests of one session that its client has not answered */
#define MCP_HOLD_SECS 60                /* one without a connection to go to fails after so long */
#define MCP_SERVERS_MAX 64              /* of one session */
#define SESSION_SOCKET_CLIENTS_MAX 256            /* MCP connections of one session's harness */
#define SESSION_SOCKET_HELLO_MAX (4 * KIB)        /* the line that says which server is wanted */
#define SESSION_SOCKET_HELLO_MS 10000
#define SESSION_SOCKET_IN_MAX (20 * MIB)          /* of messages begun by all its clients; one may be as long */
#define SESSION_SOCKET_OUT_MAX (80 * MIB)         /* bytes that they together have not read */
#define SESSION_SOCKET_LINE_MS 30000              /* from the first byte of a message to its end */
#define SHIM_BYTES (64 * KIB)           /* carried at a time, each way */

/* MCP over HTTP */
#define MCP_HTTP_SESSIONS_MAX 256       /* of legacy clients; above: the one unused for longest goes */
#define MCP_HTTP_SESSION_IDLE_MS 21600000 /* without a request or an open stream */
#define MCP_HTTP_LISTENERS_MAX 4        /* GET streams of one session; at the next the oldest ends */
#define MCP_HTTP_DECIDE_MS 1500         /* a call without a word for so long is answered by a stream of events */
#define MCP_HTTP_ERROR_MAX (64 * KIB)   /* a longer answer is not searched for an error's code */
#define MCP_HTTP_BACKLOG_MAX (4 * MIB)  /* unread bytes of one stream */

/* MCP servers that live in the sandbox */
#define HOSTED_FILE_MAX (1 * MIB)       /* a configuration file */
#define HOSTED_SERVERS_MAX 64           /* of one file */
#define HOSTED_NAME_MAX 64              /* characters of a server's name */
#define HOSTED_STRING_MAX (64 * KIB)    /* one string of an entry, expanded */
#define HOSTED_ITEMS_MAX 256            /* of args, env or headers */
#define HOSTED_ISSUES_MAX 100           /* of one file; more are only counted */
#define HOSTED_BACKOFF_MS 250           /* shortest wait before a restart */
#define HOSTED_BACKOFF_MAX_MS 30000
#define HOSTED_RESTARTS_MAX 5           /* in a row; then it has failed */
#define HOSTED_STABLE_MS 60000          /* ready for so long: the next restart is the first again */
#define HOSTED_RETRY_MS 10000           /* a failed server is not tried again sooner */
#define HOSTED_CHECK_EVERY_MS 60000     /* between two checks of the tools of a server that is a child */
#define HOSTED_CHECK_HTTP_MS 1500       /* of one over HTTP, whose end shows in nothing else */
#define HOSTED_CHECK_MS 10000           /* for one check */
#define HOSTED_PAGES_MAX 64             /* of one list of tools */

/* Built-in tools */
#define TOOL_THREADS_MAX 8              /* calls that work at a time */
#define TOOL_WAITS_MAX 32               /* calls that mostly wait (watchDirectory) at a time */
#define TOOL_STACK_BYTES (1 * MIB)      /* of a thread: regular expressions of the C library are hungry */
#define TOOL_TIME_MS 120000             /* a call that works, unless policy sets another time */
#define TOOL_STOP_GRACE_MS 2000         /* after that: until its client is answered without it */
#define TOOL_ASK_MS 630000              /* for a human to allow a call: ten minutes, and time for the messages */
#define TOOL_ASKS_MAX 1024              /* answers of theirs within that time */
#define TOOL_CLOSE_MS 5000              /* at the end: for open calls to stop */
#define TOOL_RESULT_MAX (24 * MIB)      /* members of one result; above: RESULT_TOO_LARGE */
#define TOOL_EDIT_MAX (32 * MIB)        /* a file that is edited */
#define TOOL_EDITS_MAX 256              /* of one call of editFile */
#define NEAREST_FILE_MAX (1 * MIB)      /* a larger file is not searched for lines like a text that is not in it */
#define NEAREST_LINES_MAX 200           /* nor for a text of more lines */
#define NEAREST_LINE_MAX 2048           /* bytes of a line that are compared, without blanks */
#define NEAREST_LINE_MIN 3              /* a shorter line resembles too many others */
#define NEAREST_PERCENT 40              /* of a line that must be alike */
#define NEAREST_MAX 3                   /* places reported */
#define GUARD_WAIT_MS 10000             /* for others who write in the same directory; then BUSY */
#define GUARD_FLOCKS_MAX 64             /* directories of one patch that other processes are kept out of */
#define TOOL_READ_MAX (8 * MIB)         /* of a file in one result */
#define TOOL_SHOW_LINES 1950            /* of a result for a model, without notes on the rest: harnesses cut at 2000 */
#define TOOL_SHOW_BYTES 48000           /* the same: they cut at 50 KiB, and some then show nothing of it */
#define TOOL_SHOW_LINES_MAX 1990        /* of all of it, notes included */
#define TOOL_SHOW_MORE 2400             /* bytes above TOOL_SHOW_BYTES for the notes */
#define TOOL_SHOW_BYTES_MIN 4000        /* the least that a client may ask for */
#define TOOL_SHOW_LINE 2000             /* bytes of one line */
#define TOOL_SHOW_MATCH 500             /* bytes of a line that grep has found */
#define TOOL_IMAGE_MAX (3 * MIB)        /* a file shown as an image; 4 MiB in base64, below what providers take */
#define TOOL_IMAGE_SIDE 8000            /* pixels, the same */
#define TOOL_FILES_BYTES 2097152        /* readFiles: all contents together, and the most that may be asked for */
#define TOOL_FILES_BYTES_MAX (8 * MIB)
#define TOOL_FILE_BYTES 262144          /* readFiles: of one file */
#define TOOL_FILES_MAX 1000             /* readFiles, writeFiles: files */
#define TOOL_GLOBS_MAX 256              /* patterns that one with braces stands for */
#define TOOL_GLOB_BRACES_MAX 64         /* braces of one of these patterns */
#define TOOL_GLOB_BYTES_MAX (16 * KIB)  /* of one pattern */
#define TOOL_LIST_PAGE 1000             /* listFiles: entries of one result, and the most */
#define TOOL_LIST_PAGE_MAX 10000
#define TOOL_GREP_MATCHES 200           /* grep: matches of one result, and the most */
#define TOOL_GREP_MATCHES_MAX 10000
#define TOOL_GREP_LINE_MAX 2000         /* bytes of a line that are shown */
#define TOOL_GREP_CONTEXT_MAX 20
#define TOOL_GREP_FILE_MAX (64 * MIB)   /* a larger file is not searched */
#define TOOL_GREP_HEAP_KIB 65536        /* of one match */
#define TOOL_GREP_STEPS 10000000        /* of one match; above: the line does not match, and the result says so */
#define TOOL_WATCH_MS 30000             /* watchDirectory */
#define TOOL_WATCH_MS_MAX 600000
#define TOOL_WATCH_EVENTS_MAX 10000     /* events of one result */
#define TOOL_WATCH_DIRS_MAX 16384       /* directories of one watch */
#define TOOL_CONFIG_MAX (4 * MIB)

/* MCP */
#define MCP_CALL_MS 3600000             /* that a harness waits for a call, unless policy lets one take longer */
#define MCP_LINE_MAX (48 * MIB)         /* one message of a client */
#define MCP_OUT_SOFT (1 * MIB)          /* waiting for a client that does not read; above: reading from it pauses */
#define MCP_OUT_MAX (80 * MIB)          /* above: the client is given up */
#define MCP_EOF_GRACE_MS 1000           /* after the end of a client's input, for what is open */
#define MCP_OPEN_MAX 1024               /* unanswered requests of one client */
#define MCP_HELD_MAX (64 * MIB)         /* of params of a legacy client's open requests, kept for rounds of questions */
#define MCP_ROUNDS_MAX 8                /* of questions, for one request */
#define MCP_ASKS_MAX 32                 /* questions of one round */
#define MCP_ASK_MS 630000               /* for the answers to one round: people are asked, and have ten minutes */
#define MCP_HEARTBEAT_MS 10000          /* silence of a request until its client gets a sign that it goes on */
#define MCP_HEARTBEAT_MAX_MS 3600000    /* no more such signs for a server silent for so long; its client may judge */
#define MCP_HEARTBEAT_TEXT_MAX (8 * KIB) /* of the server's message that is repeated */
#define MCP_PACE_MS 250                 /* before a retry that a server wants without a question */
#define MCP_WATCH_MAX 1024              /* resources that one client subscribes to */
#define MCP_URI_MAX 8192                /* bytes of one's name */
#define MCP_LISTEN_ACK_MS 15000         /* until a server takes a subscription */
#define MCP_LISTEN_RETRY_MS 1000        /* until a lost subscription is asked for again; doubles each time */
#define MCP_LISTEN_RETRY_MAX_MS 60000
#define MCP_START_MS 60000              /* start of a server until its handshake is over */
#define MCP_PROBE_MS 5000               /* for the answer to server/discover; then initialize is sent, too */
#define MCP_TEXT_MAX 256                /* of a server's name, version, or message that is shown */
#define MCP_HELD_MS 660000              /* a legacy server's question waits so long for the retry that answers it */
#define MCP_ADDRESSES_MAX 4             /* of an HTTP server that are tried */
#define MCP_CONNECT_MS 10000            /* for each of them */
#define MCP_POSTS_MAX 1024              /* requests open at one HTTP server */
#define MCP_STREAM_RETRY_MS 1000        /* until a lost event stream is asked for again; doubles; the server may say */
#define MCP_STREAM_RETRY_MAX_MS 60000
#define MCP_STREAM_TRIES_MAX 8          /* for the rest of one answer */
#define MCP_GOODBYE_MS 1000             /* for the end of a session to reach its HTTP server */
#define MCP_MIRRORED_MAX 1024           /* arguments of one server's tools that go into headers */
#define MCP_MIRRORED_DEPTH 8            /* objects around such an argument */
#define MCP_LIST_PAGES_MAX 16           /* of a list of tools that is read to find them */
#define MCP_SESSION_ID_MAX 1024
#define MCP_HELD_CALLS_MAX 256          /* calls to a legacy server that wait for a retry */

/* Policies of tools, and patches that tools apply */
#define POLICY_RULES_MAX 1024           /* globs, commands or names in one list */
#define POLICY_NAME_MAX 1024            /* bytes of a name, glob or word in a rule */
#define POLICY_TIMEOUT_MAX 86400000     /* ms */
#define POLICY_CALLS_MAX 1000000000
#define POLICY_NESTING_MAX 16           /* programs that run programs; deeper counts as not understood */
#define PATCH_FILES_MAX 4096            /* of one patch that is applied */
#define PATCH_HUNKS_MAX 65536           /* of one file */
#define PATCH_ANCHORS_MAX 8             /* "@@" lines above one hunk */
#define PATCH_SIDE_MAX (64 * MIB)       /* a file that is patched, before or after */
#define PATCH_BYTES_MAX (64 * MIB)      /* the text of a patch */
#define PR_PATCH_MAX (8 * MIB)          /* patch of a pull request, in an answer */
#define PR_BUNDLE_MAX ARTIFACT_INLINE_MAX /* bundle of its branch */
#define PR_STEP_MS 120000               /* one run of git for it */
#define TOOLGATE_TOOLS_MAX 4096         /* names remembered of one server's lists */
#define TOOL_ALIAS_MAX 64               /* characters of server and tool, as a harness joins them for a provider */
#define TOOL_ALIAS_MIN 24               /* of them for the tool, whatever its server is called */
#define TOOL_SCHEMA_MAX (256 * KIB)     /* of a tool's input, as its server has it and as its harness gets it */
#define TOOL_SCHEMA_REF_MAX 1024        /* bytes of a reference in it */
#define TOOL_SCHEMA_VARIANTS_MAX 1024   /* schemas of the properties in its branches, if they are to be any of them */
#define TOOL_SCHEMA_EFFORT_MAX (256 * MIB) /* bytes that are read to find references and names in one list */
#define TOOLS_OMITTED_MAX 64            /* tools that a harness was not given, told of one list */
#define TOOL_NAMES_MAX 16384            /* tools of all servers that a session's harness is given */
#define TOOLGATE_ROUNDS_MAX 64          /* calls that wait for their client's input */

/* Built-in tools: commands and test runs */
#define RUN_KEEP_BYTES (1 * MIB)        /* newest output kept of each stream, unless the call says otherwise */
#define RUN_KEEP_MAX (8 * MIB)
#define OUTPUT_HEAD_BYTES (32 * KIB)    /* oldest output kept besides */
#define RUN_ENDED_MAX 8                 /* commands whose output was shown in part, and can be read on */
#define RUN_TIME_MS 30000               /* a command, unless the call or the policy say otherwise */
#define RUN_TIME_MAX 86400000           /* longest time that can be asked for */
#define TOOL_KILL_MS 1000               /* SIGTERM until SIGKILL of a command over its time; below TOOL_STOP_GRACE_MS */
#define RUN_WAIT_MS 30000               /* for a process in the background to end */
#define RUN_BACKGROUND_MAX 64           /* processes in the background that are known, ended ones too */
#define RUN_ARGS_MAX 4096
#define RUN_ENVS_MAX 256
#define RUN_PROGRESS_MS 50              /* between two reports of output; the first goes at once */
#define RUN_PROGRESS_BYTES (128 * KIB)  /* newest bytes of a stream in each report */
#define CODE_KEEP_BYTES (512 * KIB)     /* of runCode, whose result holds the output twice */
#define CODE_TIME_MS 60000
#define CODE_MAX (8 * MIB)
#define TEST_TIME_MS 120000
#define TEST_SHARDS_MAX 8               /* at a time */
#define TEST_OUTPUT_BYTES (32 * KIB)    /* end of the output that the result holds */
#define TEST_ARTIFACT_BYTES (2 * MIB)   /* end of the output that becomes an artifact of the session */
#define TEST_LOG_BYTES (64 * MIB)       /* of the file with the output */
#define TEST_LOGS_MAX 16                /* such files; at the next the oldest is removed */
#define TEST_RESULTS_BYTES (1 * MIB)    /* results of single tests that runTests lists; more are only counted */
#define TEST_NAME_MAX 512
#define TEST_MESSAGE_MAX 4096
#define TEST_LINE_MAX (64 * KIB)        /* of the output of a test runner; the rest of a longer line is left out */
#define TEST_PLAN_MAX 10000000
#define TEST_JUNIT_MAX (64 * MIB)       /* a report that is read */

/* clang-format on */
