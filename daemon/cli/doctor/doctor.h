/*
 * doctor.h - `acpd doctor`: what of this machine and of the settings would keep acpd from its work. It reads the settings
 * that `acpd serve` would have, and looks at the machine itself, so it works while an image is built. If a daemon answers on
 * control.sock, what that one knows better is taken from its answer instead (check_daemon.c).
 *
 * The checks are one table (doctor.c). A check looks, says what it found with doctor_found, and changes nothing. It trusts
 * nothing of what it reads: files and answers have a size, programs a time, and texts become one line.
 */
#pragma once

#include "base/limits.h"
#include "base/slice.h"
#include "base/util.h"
#include "cli/options/cli_options.h"
#include "harnesses/registry.h"

#include <netinet/in.h>

/* --- finding.c: a list of {check, level, message, hint}, its exit code, and its two outputs --- */

#define DOCTOR_FINDINGS_MAX 400 /* told; beyond them only the first trouble of a kind */

enum doctor_kind {
	KIND_SETTINGS,
	KIND_PROGRAMS,
	KIND_DIRECTORIES,
	KIND_DISK,
	KIND_PORT,
	KIND_CLOCK,
	KIND_USERS,
	KIND_ROOT,
	KIND_KERNEL,
	KIND_HARNESS,
	KIND_NODE,
	KIND_PYTHON,
	KIND_GIT,
	KIND_RIPGREP,
	KIND_CERTIFICATES,
	KIND_MCP,
	KIND_STATE,
	KIND_DAEMON,
	KIND_CLAIM,
	KIND_LOOPBACK,
	KINDS,
};

/* What is wrong comes first in the list. */
enum found_level { FOUND_OK, FOUND_WARNING, FOUND_TROUBLE };

struct finding {
	const char *id; /* of the check */
	enum doctor_kind kind;
	enum found_level level;
	char subject[64]; /* what of several it is about; "": there is one */
	char message[320], hint[200];
};

struct findings {
	struct finding *at;
	size_t n, more; /* more: those that were not kept */
	bool trouble[KINDS];
	struct finding lost; /* the newest of those */
};

/* Never NULL; good until the next one. */
struct finding *findings_add(struct findings *f, enum found_level level, enum doctor_kind kind,
			     const char *id, const char *subject);
void findings_done(struct findings *f);
/* What can be done about it. */
#define HOW_TO_INSTALL                                                                             \
	"acpd harness install NAME, put one into a directory of PATH, or name it in --harness-config"
void finding_hint(struct finding *f, const char *fmt, ...) _printf_(2, 3);

/* 0: nothing is in trouble. */
int findings_code(const struct findings *f);
/* A line each on standard output, what is wrong first. */
void findings_print(const struct findings *f);
/* {findings, more?, daemon?, exitCode} on standard output; daemon: what it says, may be empty. */
void findings_print_json(const struct findings *f, struct slice daemon);

/* --- listening.c: which TCP sockets can be reached by loopback, and which process has each --- */

#define DOCTOR_SOCKETS_MAX (1 * MIB) /* of a list of sockets */
#define DOCTOR_LISTENERS_MAX 64	     /* told */
#define DOCTOR_OPEN_FILES_MAX 500000 /* of all processes, searched for who listens */

struct listening {
	char address[INET6_ADDRSTRLEN];
	uint16_t port;
	uid_t uid; /* who made it */
	uint64_t inode;
	pid_t pid;	  /* 0: we may not see whose it is */
	char command[32]; /* what that process calls itself, one line */
};

/* The first max of them, by port; how many. */
size_t listening_find(struct listening *ret, size_t max);
/* "COMMAND (pid N)", or what else is known of it. Returns out. */
const char *listening_owner(const struct listening *l, char *out, size_t size);

/* --- safe_path.c: whether others could change or replace what is at a path --- */

/* path: absolute, and without symbolic links where it shall be believed (realpath). true: nobody could. Else why says who,
 * in words. What cannot be looked at counts as safe: nobody goes there either. */
bool safe_path(const char *path, char *why, size_t size);

/* --- the checks --- */

#define DOCTOR_REPORT_MAX (16 * MIB)   /* what a daemon says */
#define DOCTOR_ACCOUNTS_MAX (16 * MIB) /* of a file of users or groups that are looked up */
#define DOCTOR_BYTES_MIN (64 * MIB)    /* free on a disk; less is trouble */
#define DOCTOR_BYTES_LOW (1024 * MIB)  /* the same; less is a warning */
#define DOCTOR_INODES_MIN 1000
#define DOCTOR_INODES_LOW 20000

struct doctor_check;

struct doctor {
	const struct config *c;
	struct findings found;
	const struct doctor_check *at; /* the one that runs */
	struct harness_table harnesses;
	bool has_harnesses; /* they could be read */
	bool has_accounts; /* users and groups may be looked up: their files have a bearable size */
	bool has_daemon;   /* a daemon has answered */
	struct buf report; /* and this is what it said */
	/* else why there is no answer; its reason is UNREACHABLE where there is no daemon */
	struct err unheard;
};

/* Of the check that runs. subject: what of several it is about; NULL: there is one. */
struct finding *doctor_found(struct doctor *d, enum found_level level, const char *subject,
			     const char *fmt, ...) _printf_(4, 5);

/* The same with a daemon and without. kind NULL: there is no cgroup. missing NULL: there are network namespaces. any: a way to
 * root has been found. */
void found_cgroup(struct doctor *d, const char *kind);
void found_network(struct doctor *d, const char *missing);
void found_all_ways(struct doctor *d, bool unread, bool any);

/* Looks, and says what it has found. check_accounts is the first of all that look up users. */
typedef void doctor_check_fn(struct doctor *d);

doctor_check_fn check_settings, check_accounts, check_agent_user, check_shared_user,
	check_agent_uids, check_ways_to_root, check_setuid, check_program, check_helpers,
	check_search_path, check_dirs, check_disk, check_clock, check_port, check_listeners,
	check_levels, check_landlock, check_cgroup, check_key_memory, check_limits, check_network,
	check_nftables, check_harnesses, check_node, check_python, check_git, check_ripgrep,
	check_certificates;
/* check_daemon.c */
doctor_check_fn check_no_daemon, check_daemon, check_daemon_claim, check_daemon_cgroup,
	check_daemon_user, check_daemon_limits, check_daemon_sharing, check_daemon_uids,
	check_daemon_level, check_daemon_network, check_daemon_root, check_daemon_direct,
	check_daemon_key_memory, check_daemon_state, check_daemon_harnesses, check_daemon_mcp;
