/*
 * limits.h - every bound of the daemon, in one place. Bytes, milliseconds and counts; those an operator may
 * change are only the defaults of rows in cli/options/cli_options.c.
 */
#pragma once

/* clang-format off */
#define KIB (1024UL)
#define MIB (1024UL * 1024UL)

#define BUF_MAX_DEFAULT (96 * MIB)      /* above: a bug or an attack, never a message */

/* JSON and JSON-RPC */
#define JSON_DEPTH_MAX 64
#define JKNOWN_MIN (16 * KIB)           /* a value of a long text that a later scan skips */
#define JPUSH_PATH_MAX 96               /* names of a place in a text that passes, with dots between */
#define JPUSH_TEXT_MAX 1024             /* of a value that is wanted of such a text */
#define RPC_ID_MAX 1024                 /* bytes of a request id or session id, as the SDK has it */
#define RPC_PENDING_MAX 1024            /* our open requests towards one peer */
#define MESSAGE_MAX (32 * MIB)          /* one message from a client; above: close 1009 */
#define METHOD_NAME_MAX 128

/* Connections */
#define CONN_MAX 512                    /* open client connections */
#define CONN_CALLS_MAX 1024             /* unanswered requests of one client */
#define CONN_BATCH_BYTES (256 * KIB)    /* frames laid out for one socket write */
#define CONN_QUEUE_MAX (8 * MIB)        /* replies and requests waiting for one client; at the next: close 1008 */
#define CONN_BACKLOG_MAX (64 * MIB)     /* session output a reader may lag behind; above: close 1008 */
#define CONN_LAG_MS 2500                /* beyond CONN_BACKLOG_MAX and nothing taken for so long: close 1008 */
#define CONN_STALL_MS 60000             /* backlog above CONN_BACKLOG_SOFT without progress; above: close 1008 */
#define CONN_BACKLOG_SOFT (1 * MIB)
#define STRANGERS_MAX 256               /* TCP connections without a token so far; at the next the oldest is closed */
#define OPEN_ANSWERS_MAX 256            /* of one connection to requests without a token; then it is closed */
#define OPEN_BYTES_MAX (4 * MIB)        /* the same, in bytes */
#define OPEN_UNIT (16 * KIB)            /* of all of them together: so many units at once, then one in each interval */
#define OPEN_BURST 2048
#define OPEN_UNIT_MS 2
#define KNOWN_MAX 128                   /* those with one, between two requests; at the next the oldest is closed */
#define LOCAL_SILENT_MAX 64             /* silent connections to one UNIX socket; at the next the oldest is closed */
#define LOCAL_MAX 512                   /* the others, on both sockets together; the next is refused */
#define ANCESTRY_DEPTH_MAX 512          /* parents above a local client that are searched for its session */
#define ANCESTRY_FILE_MAX (4 * MIB)     /* of a file in /proc */
#define ACCEPTS_PER_TURN 32
#define ACCEPT_AGAIN_MS 100             /* without descriptors or memory for a connection: until the next try */
#define START_SETTLED_MS 200            /* after a start: the first answers are out, and what they need not wait for is done */
#define LOG_BURST 20                    /* lines of one kind that peers cause at once */
#define LOG_EACH_MS 1000                /* and afterwards one in so long; what is left out is counted */
#define HANDSHAKE_SECS 15               /* of silence, until a token or a first message */
#define PING_INTERVAL_SECS 20
#define PING_TIMEOUT_SECS 20
#define TCP_KEEPALIVE_SECS 60
#define HTTP_KEEPALIVE_SECS 15          /* between two requests; longer than clients keep a connection */
#define HTTP_OPEN_SECS 120              /* for an open body, for who has shown no token */
#define HTTP_HEADERS_MAX 16384
#define HTTP_PATH_MAX 2048
#define CORS_ORIGIN_MAX 1024            /* bytes of an Origin */
#define CORS_HEADERS_MAX 1024           /* bytes of the names of headers that a page asks to send */
#define HTTP_NAME_MAX 4096              /* the header Mcp-Name: a URI, perhaps in base64 */
#define VIEWER_FILE_MAX (16 * MIB)      /* a file of the run viewer */
#define RAW_PIECE (16 * KIB)             /* of the bytes that the command line passes on, at a time */
#define RAW_CONNECT_MS 15000            /* for each address of a name, and for TLS */
#define UI_VISITS_MAX 128               /* connections of browsers to acpd ui; one more is told so */
#define UI_HEAD_MAX (32 * KIB)          /* of a browser's request */
#define UI_HEAD_MS 15000                /* until it is there */
#define UI_WINDOW (128 * KIB)           /* of what the other side has not taken; above: nothing is read */
#define UI_ANSWER_MS 90000              /* of silence until the daemon begins to answer */
#define UI_LINGER_MS 1000               /* after an answer the rest of a request is read and dropped so long */
#define UI_HEADERS_MAX 32               /* --header of acpd ui */
#define UI_HEADER_BYTES (16 * KIB)      /* all of them together */
#define HTTP_COMMENT_MS 15000           /* silence on an event stream until a comment */
#define BODY_READ_BYTES (64 * KIB)      /* of a request's body at a time */
#define BODY_STALL_SECS 15              /* a request's body without a byte for so long ends the connection */
#define BODY_LINGER_MS 2000             /* after an early answer the rest of the body is read and dropped so long */
#define HTTP_CLIENT_SECS 60             /* of the command line: a wait without a byte */
#define CHUNK_LINE_MAX 256              /* size line of a chunk with its extensions, or one trailer */
#define CHUNK_TRAILERS_MAX 4096
#define SHUTDOWN_GRACE_MS 8000          /* all harness stops together; then SIGKILL and exit */

/* Sessions */
#define SESSION_MAX 10000               /* open at a time */
#define SESSIONS_KEPT_MAX 100000        /* closed ones included */
#define AGENT_UID_MAX 2147483647        /* of a uid that a session may have */
#define AGENT_UIDS_MAX 4096             /* in --agent-uids */
#define AGENT_UID_TREES_MAX (1 * MIB)   /* paths of the trees that one of them worked on */
#define ACCOUNT_BYTES (256 * KIB)       /* space for an entry of the user or group database, at first */
#define ACCOUNT_BYTES_MAX (64 * MIB)    /* the same at most: a group with millions of members */
#define LEFTOVER_KILLS 50               /* rounds, 2 ms apart, until a user has no process */
#define AGENT_UID_SHOWN 32              /* sessions that share a uid, in an answer */
#define HARNESS_MEMORY (512 * MIB)      /* memory that has to be left for another harness to start */
#define HARNESS_MEMORY_MS 200           /* so old may be what is known of the memory that is left */
#define HARNESS_MEMORY_CHECK_MS 1000    /* between two checks while sessions wait for memory */
#define CGROUP_STAT_MAX (16 * KIB)      /* of memory.stat */
#define SOCKETS_DESTROYED_MAX 65536     /* connections of sessions, after a restore */
#define HARNESS_IDLE_SECS 300           /* without turn, question and driver: it is stopped */
#define HARNESS_WAIT_SECS 60            /* for a place among those that live; then the prompt fails */
#define TICK_MS 5                       /* between two checks whether the clock of start times has gone on */
#define WAIT_CHECK_MS 50                /* between two checks for who has waited too long */
#define SESSION_QUEUE_MAX 64            /* prompts waiting on one session */
#define SESSION_KEYS_MAX 4096           /* remembered prompt keys */
#define SESSION_KEY_LEN 128
#define RETRY_MAX 10                    /* attempts after the first */
#define UPDATE_LIST_MAX (2 * MIB)       /* of a command list, plan or option list of a harness; a longer one is refused */
#define SESSION_TITLE_MAX (4 * KIB)     /* of what is listed */
#define RETRY_TEXT_MAX (32 * KIB)       /* what a harness is told of checks that failed */
#define RETRY_TAIL_MAX (4 * KIB)        /* of one text among it */
#define LAST_MESSAGE_MAX (256 * KIB)    /* newest bytes of an agent's message, for checks: twice what they see */
#define SESSION_RULES_MAX 256           /* "from now on" of one session */
#define RULE_ID_MAX 64                  /* bytes of an id of one of them */
#define RULE_TEXT_MAX (1 * MIB)         /* bytes of a command or path that is judged; longer is not read */
#define RULE_ITEMS_MAX 4096             /* commands, words or paths of one request */
#define CALL_KEPT_MAX (16 * KIB)        /* bytes of input or locations of an open tool call that are kept for rules */
#define RULE_SHOWN_MAX 400              /* bytes of each of them that a rule of a session shows, */
#define RULE_SHOWN_ITEMS 8              /* and how many */
#define SESSION_ASKS_MAX 64             /* open questions of one session */
#define APPROVALS_REMEMBERED 128        /* questions of one session of which it is known who answered */
#define APPROVALS_PAGE_BYTES (1 * MIB)  /* of one list of open questions, and the one at its end */
#define APPROVAL_SHOWN_MAX (256 * KIB)  /* of a question in it; a larger one is listed without its text */
#define APPROVAL_BODY_MAX (1 * MIB)     /* of an answer over HTTP */
#define APPROVAL_OPTION_MAX (4 * KIB)   /* bytes of an option's id, where one is given as text */
#define APPROVAL_ID_SIZE (RPC_ID_MAX + 24)
#define APPROVAL_DETAIL_MAX 256
#define APPROVAL_TIMEOUT_MAX_MS (30 * 86400000L)
#define SESSION_CALLS_MAX 4096          /* tool calls open or announced in one turn */
#define SESSION_IDS_MAX 65536           /* ids of calls and messages remembered, 8 to 32 bytes each */
#define ID_TRIES_MAX 4096               /* uses of one id in one turn that are kept apart */
#define SESSION_LIST_PAGE 100
#define PERMISSION_TIMEOUT_SECS 600
#define DETACH_CANCEL_MS 2000           /* whenDetached "cancel": grace before the turn is cancelled */
#define CANCEL_GRACE_MS 1800            /* a harness that does not end a cancelled turn by then is killed */
#define SESSION_IDLE_MS 5000            /* after the last turn: the log tail leaves memory */
#define LOG_TAIL_BYTES (256 * KIB)      /* newest events of a session kept in memory */
#define EVENT_LARGE_MIN (256 * KIB)     /* an event that a thread writes to the journal */
#define LOG_BLOCK_MIN (4 * KIB)
#define LOG_BLOCK_MAX (64 * KIB)
#define LOG_INDEX_STEP (64 * KIB)       /* one journal index entry per so many bytes */
#define LOG_OUTLINE_INDEX 4096          /* entries of it that are kept beside the journal */
#define SUMMARY_MIN (1 * MIB)           /* of a journal; a smaller one has no summary */
#define SUMMARY_MAX (64 * MIB)          /* bytes of one that is read */
#define LOG_TRIM_MIN (64 * KIB)         /* of a journal, given up at a time; less is not worth it */
#define LOG_TRIM_PIECE (4 * MIB)        /* and made a hole in one turn of the loop */
#define LOG_GAPS_MAX 4096               /* pieces missing from one journal by damage */
#define JOURNAL_MAX (1024 * MIB)        /* bytes of one session's journal; above: the turn fails */
#define JOURNAL_RETRY_MS 1000           /* between two tries to write a journal that cannot be written */
#define JOURNAL_SPARE (64 * KIB)        /* beyond its bound, for the ends of turns */
#define JOURNAL_ROOM_MIN (64 * KIB)     /* free in the state directory; below: no new session */
#define RETAIN_ROOM_MIN (256 * KIB)     /* free on the disk, under pressure: until then closed sessions go */
#define RETAIN_CHECK_MS 200             /* between two checks while there is pressure, or sessions are too many */
#define RETAIN_SECS 60                  /* between two checks for what is too old, at most */
#define RETAIN_BATCH 16                 /* sessions that are removed in one turn of the loop */
#define LEDGER_LINE_MAX (1 * MIB)       /* one usage record */
#define LEDGER_TAIL_MAX (32 * MIB)      /* at a ledger's end, searched for its last record */
#define LEDGER_FILE_MAX (64 * MIB)      /* one file of the ledger; the next is begun before it would be larger */
#define LEDGER_FILE_MIN (64 * KIB)      /* with --keep-usage AGE,SIZE: an eighth of SIZE, but at least this */
#define LEDGER_ROOM_MIN (256 * KIB)     /* free in the state directory; below: files of the ledger that were read go */
#define LEDGER_KEEP_MS 30000            /* between two checks for what is to go */
#define LEDGER_MARK_MS 1000             /* until the position up to which the ledger was read is durable */
#define LEDGER_AUDIT_BYTES (64 * KIB)   /* of the ledger, checked in one turn of the loop */
#define LEDGER_AUDIT_MS 5               /* between two of them */
#define USAGE_AHEAD_BYTES (1 * MIB)     /* of usage.ahead, written in place; full: it is begun again from the front */
#define USAGE_AHEAD_FRAME_MAX (64 * KIB)/* what one sync puts into it; more is made durable where it is */
#define USAGE_AHEAD_FILES_MAX 64        /* journals that are followed for it, and held open at most */
#define USAGE_AHEAD_ROOM_MIN (16 * MIB) /* free in the state directory; below: it is not made */
#define USAGE_AHEAD_RETRY_MS 60000      /* then, until it is tried again */
#define USAGE_AHEAD_SETTLE_MS 2000      /* until what is durable in it alone is durable in its files */
#define EXTRA_ENV_MAX 256
#define ARG_BYTES_MAX (128 * KIB - 1)   /* of one argument, or of a variable with its name: more is E2BIG of execve */
#define ENV_NAMES_UNKNOWN_MAX 16        /* variables ACPD_* that nothing reads, told */
#define SECRET_MIN 8                    /* shorter values are likely to be words, and are not hidden */
#define SECRET_MAX (32 * KIB)
#define SECRETS_LEARNED_MAX 64          /* of those that an agent gave its sandbox */
#define SECRET_LEARNED_BYTES (4 * KIB)  /* one of them, as JSON */
#define SECRETS_MAX 1024                /* of one session, those that were replaced included */
#define FILE_PIECE (64 * KIB)           /* of a file that is copied without its secrets, at a time */
#define SECRETS_BYTES_MAX (1 * MIB)
#define ANSWER_HELD_MAX (4 * MIB)       /* of a model's answer that is recorded: one event, and what waits for others */
#define ANSWER_STREAMS_MAX 1024         /* texts in it that may have ended in the beginning of a secret */
#define ANSWER_PIECES_MAX 4096          /* of texts in one of its events */
#define PROBLEMS_MAX 100                /* of the state on disk, kept for /ready and doctor */
#define PEAK_INTERVAL_MS 100            /* between two measurements of the memory of a session's processes */
#define ARTIFACT_MAX (64 * MIB)         /* bytes of one artifact */
#define ARTIFACTS_MAX 10000             /* of one session */
#define ARTIFACTS_BYTES_MAX (1024 * MIB)
#define ARTIFACT_NAME_MAX 255
#define ARTIFACT_INLINE_MAX (8 * MIB)   /* in answers of _acpd/artifact/get, _acpd/workspace/diff; above: over HTTP */
#define SNAPSHOT_WAIT_MS 5000           /* a turn waits so long for its diff, then ends without */
#define RECOVER_SLICE_MS 2              /* journals of earlier daemons are read for so long at a time, at least one */
#define RECOVER_PAUSE_MS 5              /* between two such times */
#define USAGE_PAGE_BYTES (1 * MIB)      /* of records in one answer of _acpd/usage */
#define BUDGET_BEAT_MS 1000 /* while seconds are charged the loop wakes so often, to know when it did not run */
#define BUDGET_LIMIT_MAX 1000000000000L /* of a budget, in its unit */
#define ESTIMATE_BYTES_PER_TOKEN 4     /* of a model request, for what is reserved of a budget */
#define ESTIMATE_OUTPUT 4096           /* tokens of an answer, if the request says nothing */
#define ESTIMATE_OUTPUT_MAX 1000000000L /* that a request may make us reserve */
#define PROMPT_MIME_SHOWN_MAX 64        /* bytes of a block's type in an error */
#define SYSTEM_PROMPT_MAX (1 * MIB)
#define PROVIDER_KEY_MAX 16384          /* bytes of a provider's key */
#define PROVIDER_IDLE_MIN_MS 1000       /* provider.idleTimeoutMs: silence of a model provider */
#define PROVIDER_IDLE_MAX_MS 3600000

/* Model calls */
#define HARNESS_CLOSED_MS 1000          /* a harness that has closed its output is killed after so long */
#define MODEL_PREFIX "/model"           /* of every path at a listener */
#define MODEL_HEAD_MAX (64 * KIB)       /* of a harness's request */
#define MODEL_BODY_MAX (32 * MIB)
#define MODEL_BODIES_MAX (256 * MIB)    /* of all requests that wait for the first byte of their answer */
#define MODEL_CONNS_MAX 128             /* of one session's harness */
#define MODEL_CALLS_DEFAULT 8           /* open in one session, unless its provider's limits say another number */
#define MODEL_CALLS_MAX 64              /* the largest such number */
#define MODEL_PER_MINUTE_MAX 1000       /* the largest limits.callsPerMinute */
#define MODEL_REFUSALS_LOGGED 60        /* in a minute and a session; the others are only counted */
#define MODEL_IDLE_MS 300000            /* a connection between two requests */
#define MODEL_PATHS_MAX 32              /* provider.paths: what passes besides the API's own */
#define MODEL_PATH_LEN 256              /* bytes of one of them */
#define MODEL_SIDE_BODY_MAX (16 * KIB)  /* a request above is no side call of a harness */
#define MODEL_NAME_LEN 256              /* bytes of a model's name */
#define PRICED_MODELS_MAX 256           /* in provider.prices */
#define MODEL_WINDOW (256 * KIB)        /* bytes of a body or an answer on the way at a time */
#define MODEL_PIECE_MAX (64 * KIB)      /* of one message of a body or an answer */
#define MODEL_HELD_MAX (64 * KIB)       /* of an answer 200 that may be an error: its head waits for so much of its body */
#define MODEL_ATTACH_MAX 10000          /* sessions named in one _acpd/model/attach */
#define MODEL_SILENCE_MS 600000         /* of a provider, before its answer or within it */
#define MODEL_HOLD_SECS 60              /* a call without a connection to go to fails after so long */

/* Requests to other machines (acpd-fetch) */
#define FETCHES_MAX 1024                /* open at a time */
#define FETCH_KEYS_MAX 16384
#define FETCH_CA_MAX (16 * MIB)         /* a file of trusted certificates */
#define FETCH_URL_MAX 8192
#define FETCH_HEAD_MAX (64 * KIB)       /* headers of a request, and of an answer */
#define FETCH_BODY_MAX (32 * MIB)
#define FETCH_BODIES_MAX (256 * MIB)    /* of all open requests */
#define FETCH_WINDOW (256 * KIB)        /* bytes of an answer on the way at a time */
#define FETCH_IDLE_MAX_MS 86400000

/* What a session may call by itself (acpd-proxy) */
#define EGRESS_ENTRIES_MAX 1024         /* of one network.allow */
#define EGRESS_HOSTS_BYTES (64 * KIB)   /* of all hosts in it */
#define EGRESS_PORTS_MAX 16             /* of one entry */
#define EGRESS_DOORS_MAX 4096           /* sessions with one */
#define EGRESS_CONNS_MAX 512            /* of one session; at the next the oldest that has asked for nothing goes */
#define EGRESS_CONNS_ALL 4096
#define EGRESS_HEAD_MAX (32 * KIB)      /* of a request */
#define EGRESS_ANSWER_MAX (64 * KIB)    /* head of an answer */
#define EGRESS_HELLO_MAX (16 * KIB)     /* of a TLS ClientHello */
#define EGRESS_PIECE (64 * KIB)         /* carried at a time; what the other side does not take at once is kept */
#define EGRESS_HEAD_MS 15000            /* from the connection to the end of its request, or of its ClientHello */
#define EGRESS_LOOKUP_MS 10000
#define EGRESS_ADDRESSES_MAX 8          /* of one name that are tried */
#define EGRESS_CONNECT_MS 20000         /* for all of them */
#define EGRESS_CONNECT_NEXT_MS 2000     /* for one, if there is another */
#define EGRESS_IDLE_MS 1800000          /* without a byte either way */
#define EGRESS_LINGER_MS 1000           /* after a refusal the rest of a request is read and dropped so long */
#define EGRESS_ASKS_MAX 20              /* open questions of one session */
#define EGRESS_ASK_MS 300000            /* that a client waits for the answer */
#define EGRESS_HOSTS_TOLD 256           /* hosts of one session whose refusal or use is told by name */
#define EGRESS_USED_MS 2000             /* between two reports of what was used */

/* Patches */
#define DIFF_SIDE_MAX (512 * MIB)       /* one side of a file; above: no patch */
#define DIFF_LINES_MAX (512 * KIB)      /* lines of a side between its first and last difference; above: one block */
#define DIFF_WORK_MAX (64 * MIB)        /* steps of one comparison; what is undecided then is replaced as a block */
#define DIFF_BOX_COST_MAX 256           /* differences in one search; above: the longest path so far is taken */
#define DIFF_CONTEXT_LINES 3            /* unchanged lines around a change, as git has it */

/* .gitignore files, which any user of a tree may have written */
#define IGNORE_FILE_MAX (1 * MIB)
#define IGNORE_PATTERNS_MAX 16384       /* in force for one directory */
#define IGNORE_LEVELS_MAX 2048          /* directories inside each other: the most that a path of 4096 bytes can name */

/* Harness processes */
#define LINE_MAX_BYTES (48 * MIB)       /* one line from a harness; above: protocol fault */
#define PRESCAN_MIN (256 * KIB)         /* a line of a child that a thread reads before the loop does */
#define IO_KEEP_BYTES (4 * KIB)         /* of a connection's or child's buffer while it is idle */
#define CHILD_READ_BYTES (64 * KIB)     /* per readable pipe and loop turn */
#define CHILD_IN_MAX (80 * MIB)         /* bytes waiting for a harness that does not read */
#define CHILD_STDERR_TAIL (8 * KIB)
#define HARNESS_START_SECS 60           /* spawn until session/new is answered */
#define HARNESS_CALL_MS 30000           /* set_mode, set_config_option, authenticate */
#define STOP_EOF_MS 2500                /* stdin EOF until SIGTERM */
#define STOP_TERM_MS 2000               /* SIGTERM until SIGKILL of everything */
#define NFT_WAIT_MS 5000                /* for nft, where nothing else can be done meanwhile */
#define STOP_DRAIN_MS 300               /* after the last kill: pipes that something unkillable holds */
#define STOP_DRAIN_READS 16                  /* of CHILD_READ_BYTES from each of them at the end: a pipe has at most 1 MiB */
#define NOISE_MINUTE_MAX 10000          /* lines of a child that are not messages, in a minute; a long line counts by KiB */
#define NOISE_MAX 1000000               /* the same in the child's life */
#define NOISE_SHOWN 120                 /* first bytes of one that the log shows */
#define UNKNOWN_UPDATES_MAX 64          /* updates of unknown kinds that clients get in a turn, or between two */
#define UNKNOWN_UPDATE_MAX (64 * KIB)   /* the same: bytes of one */
#define SWEEP_ROUNDS 100                /* kill rounds until no descendant is left */
#define SWEEP_ROUND_MS 10
#define SWEEP_SCAN_MS 10000             /* one scan of the process table, in a thread */
#define SWEEP_STACK (128 * KIB)
#define JOB_STACK (256 * KIB)           /* of a thread that does a piece of work beside the loop */
#define TREE_READ_BYTES (16 * KIB)      /* of an environment at a time */
#define SPACES_SHM_BYTES "268435456"   /* /dev/shm of a session in namespaces of its own, for tmpfs */
#define TREE_MARKER_MAX 256             /* a variable that marks a process, with its name */
#define CGROUP_READ_BYTES (2 * KIB)     /* of a list of members, per round of killing; each gets a signal */
#define REAP_MAX 32                     /* dead children reaped in one go; each costs a scan of all that live */
#define MEASURE_FILES_MAX 256           /* files of /proc read for the usage of a turn without a cgroup: some ms */
#define MEASURE_READ_BYTES (4 * KIB)    /* of each of them */
#define CHILD_NOFILE 65536              /* hard limit of a child; its soft limit is the daemon's own at start */
#define CHILD_NPROC 4096                /* of a uid that is not ours: RLIMIT_NPROC */
#define LIMIT_MEMORY_SPARE (64 * MIB)   /* of all memory, that no session may have: the daemon's */
#define LIMIT_MEMORY_MIN (16 * MIB)     /* least that a session can be given: less, and nothing starts */
#define LIMIT_PIDS 4096                 /* processes and threads of a session, unless --limit-pids says so */
#define LIMIT_PIDS_MIN 16               /* the same: an engine of JavaScript starts a dozen threads */
#define OOM_SCORE_CHILD "500"           /* oom_score_adj: -1000 to 1000, the highest goes first */
#define OOM_SCORE_DAEMON "-900"
#define OOM_EVENTS_MAX 32               /* of one turn that tell of processes killed for memory */
#define OOM_RECENT_MS 2000              /* a harness that is killed so soon after was hit by the same */
#define ROOT_ACCESS_FILE_MAX (1 * MIB)  /* a file of /etc that may show a way to root */
#define ROOT_ACCESS_FILES_MAX 64        /* of sudo, of sshd */

/* What confined processes were refused, where that is recorded */
#define REFUSALS_MAX 128                /* different ones; further ones are only counted */
#define REFUSAL_DETAIL_MAX 512          /* bytes of a path, an address or what else a call was about */
#define REFUSALS_TOLD_MAX 64            /* events of one turn */
#define REFUSALS_TOLD_ALL 1024          /* of one session */

#define OPTION_PATH_MAX 2048            /* bytes of a path of the command line: the daemon's own files are below it */

/* Archives and file trees (their defaults; a job may say others) */
#define PATH_BYTES_MAX 4096
#define PATH_DEPTH_MAX 128              /* directories above each other */
#define STRIP_AUTO (-1)                 /* instead of a number of leading components: a single top directory, if any */
#define UNPACK_ENTRIES_MAX 200000
#define CLEAR_LEVELS 32                 /* directories open while a tree is removed, however deep it is */
#define DISCARD_BATCH 64                /* trees that one job removes */
#define UNPACK_BYTES_MAX (4096 * MIB)   /* of all files of an archive, unpacked */
#define UNPACK_FILE_MAX (2048 * MIB)
#define UNPACK_RATIO_MAX 200            /* unpacked to packed, once UNPACK_RATIO_FROM bytes are out */
#define UNPACK_RATIO_FROM (64 * MIB)
#define UNPACK_SECS_MAX 120
#define SKIPPED_MAX 1000                /* paths that a report lists; the rest is only counted */
#define COMMIT_OPS_MAX 2000000          /* steps of one commit: 8 bytes each */
#define UNPACK_HEADER_MAX (1 * MIB)     /* one extended header of a tar: long names, pax records */
#define UNPACK_SPARSE_MAX 65536         /* pieces of one sparse file */
#define UNPACK_NAMES_MAX (64 * MIB)     /* all names and link targets of a job */
#define UNPACK_JOB_MAX (64 * MIB)       /* the job's line, with the texts in it */
#define UNPACK_SOURCES_MAX 256
#define UNPACK_RING_BUFFERS 6           /* between inflating, writing and hashing */
#define UNPACK_RING_BYTES (256 * KIB)
#define UNPACK_ZSTD_WINDOW_LOG 23       /* 8 MiB: the largest window that is allocated */
#define UNPACK_MEMORY_MAX (256 * MIB)   /* address space of the worker */
#define TREE_EXTRA_MAX (1024 * MIB)     /* bytes that one job hashes beyond what a tree takes on the disk: holes, hard links */
#define EXPORT_EXTRA_MAX (4096 * MIB)   /* the same, of one archive */
#define TREE_LINKS_FREE 8               /* names of a file that count as one each: package managers link what they install */
#define TREE_NAMES_MAX (64 * MIB)       /* names of one directory that is read */
#define SNAPSHOT_FILE_MAX (16 * MIB)    /* a larger file is left out of snapshots and patches */
#define SNAPSHOT_BYTES_MAX (4096 * MIB) /* of all contents that a snapshot and its turns keep */
#define SNAPSHOT_PLAIN_MAX (512 * MIB)  /* bytes of a tree that a baseline keeps as they are; the rest is compressed */
#define SNAPSHOT_PLAIN_ROOM (2048 * MIB) /* only where the file system has so many free */
#define SNAPSHOT_PATCH_MAX (64 * MIB)   /* one patch */
#define SNAPSHOT_RETRIES 3              /* reads of a file that somebody is writing */
#define SNAPSHOT_RECENT_MS 50           /* a file changed so shortly before its read may change again in that tick */
#define SNAPSHOT_RECENT_COARSE_MS 2100  /* the same where a file system keeps whole seconds */
#define AHEAD_THREADS_MAX 3             /* that read for a snapshot, beside the one that walks */
#define AHEAD_ITEMS 64                  /* entries, and open files, between reading and recording */
#define AHEAD_BYTES (4 * MIB)           /* of all files among them */
#define AHEAD_FILE_MAX (1 * MIB)        /* a larger one waits until it can be read alone */
#define DRAFT_ENTRIES_MAX 200000        /* paths of a tree that a draft is made of */
#define DRAFT_TEXT_MAX (64 * MIB)       /* of all these paths */
#define DRAFT_BASE_MAX (128 * MIB)      /* bytes of the record of a real tree */
#define DRAFT_SECS_MAX 600              /* one job on a draft */
#define DRAFT_MAX_DEFAULT (4096 * MIB)  /* bytes on the disk, if the operator does not say */
#define DRAFT_MEASURE_MS 2000           /* so often it is measured while a turn runs */
#define DRAFT_AFTER_MAX 1000            /* failures in a row, after which one begins */
#define DRAFT_HASH_BYTES (1024 * MIB)   /* of a real tree, hashed when a draft begins; of the rest times decide */
#define DRAFT_HASH_MS 20000             /* that hashing may take */
#define DRAFT_FORCE_MAX 1000            /* paths that one apply may force */
#define DRAFT_SETTLE_MS 50              /* stat data that are younger prove nothing yet */
#define EXPORT_PATHS_MAX 1000           /* paths that one export may name */
#define TREE_MANIFEST_MAX (256 * MIB)   /* bytes of one manifest of a tree */

/* Skills: the first two are what one skill may have, the rest bounds the reading of its SKILL.md */
#define SKILL_FILES_MAX 512             /* files and symbolic links of a skill */
#define SKILL_BYTES_MAX (16 * MIB)      /* all its files together */
#define SKILL_TREE_DEPTH 32             /* directories inside each other */
#define SKILL_FILE_MAX (1 * MIB)        /* SKILL.md */
#define SKILL_FRONT_MAX (64 * KIB)      /* its frontmatter */
#define SKILL_YAML_DEPTH 16
#define SKILL_YAML_NODES 4096
#define SKILL_FINDINGS_MAX 100          /* of one report; more are counted */
#define SKILL_LINK_HOPS 40              /* links walked for one link */
#define SKILL_NAME_MAX 64               /* characters, as the format has it */
#define SKILL_DESCRIPTION_MAX 1024
#define SKILL_COMPATIBILITY_MAX 500
#define SKILL_BODY_LINES 500            /* advice of the format; above: a warning */
#define SKILL_BODY_BYTES (20 * KIB)     /* about 5000 tokens, the same */

/* Archives */
#define ARCHIVE_STORE_MAX (8192 * MIB)  /* all files of the store together; above: the least recently used go */
#define ARCHIVE_UPLOAD_MAX (4096 * MIB) /* one archive */
#define DERIVE_BYTES_MIN (8 * MIB)      /* a smaller archive is inflated each time */
#define ARCHIVE_COUNT_MAX 16384         /* archives and unfinished uploads that are remembered */
#define ARCHIVE_UPLOADS_MAX 16          /* uploads going on; each has a thread */
#define ARCHIVE_QUEUE_MAX (256 * KIB)   /* of one upload, waiting for its thread; above: its client is not read */
#define ARCHIVE_PIECE_BYTES (64 * KIB)  /* of one write, and of one read when a part is hashed again */
#define ARCHIVE_STEP_BYTES (16 * MIB)   /* room is made in such steps for an upload of unknown size */
#define ARCHIVE_FLUSH_BYTES (8 * MIB)   /* handed to the disk early in such portions */
#define ARCHIVE_FREE_MIN (64 * MIB)     /* of the file system (of a small one a 16th), always left free */
#define ARCHIVE_IDLE_MS 60000           /* after its client went, an upload keeps its thread and hash so long */
#define ARCHIVE_TAKEOVER_MS 5000        /* an upload without a byte for so long may be taken over by another client */
#define ARCHIVE_PART_MS 86400000        /* an unfinished upload is kept so long */
#define ARCHIVE_TIDY_MS 3600000         /* between two checks for those */

/* Entrypoint */
#define ENTRY_STOP_SECS 15              /* more than --drain: from SIGTERM to SIGKILL, once the other has ended */
#define ENTRY_MCP_SECS 60               /* the banner waits for the handshakes of MCP servers */
#define PROGRAM_VERSION_MS 3000         /* for "program --version", where somebody waits */

/* Loop */
#define LOOP_EVENTS_PER_TURN 32

#include "base/limits_parts.h"
#include "base/limits_tools.h"

/* clang-format on */
