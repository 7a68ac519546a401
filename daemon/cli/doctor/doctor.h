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
#include "cli/options/cli_options.h"
#include "cli/doctor/finding.h"
#include "harnesses/registry.h"

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
	bool beside;	   /* a daemon has answered */
	struct buf report; /* and this is what it said */
	/* else why there is no answer; its reason is UNREACHABLE where there is no daemon */
	struct err unheard;
};

/* Of the check that runs. subject: what of several it is about; NULL: there is one. */
struct finding *doctor_found(struct doctor *d, enum found_level level, const char *subject,
			     const char *fmt, ...) _printf_(4, 5);

void check_settings(struct doctor *d);
void check_accounts(struct doctor *d); /* first of all that look up users */
void check_agent_user(struct doctor *d);
void check_shared_user(struct doctor *d);
void check_agent_uids(struct doctor *d);
void check_ways_to_root(struct doctor *d);
void check_setuid(struct doctor *d);
void check_program(struct doctor *d);
void check_helpers(struct doctor *d);
void check_search_path(struct doctor *d);
void check_dirs(struct doctor *d);
void check_disk(struct doctor *d);
void check_clock(struct doctor *d);
void check_port(struct doctor *d);
void check_listeners(struct doctor *d);
void check_levels(struct doctor *d);
void check_landlock(struct doctor *d);
void check_cgroup(struct doctor *d);
void check_key_memory(struct doctor *d);
void check_limits(struct doctor *d);
void check_network(struct doctor *d);
void check_nftables(struct doctor *d);
void check_harnesses(struct doctor *d);
void check_node(struct doctor *d);
void check_python(struct doctor *d);
void check_git(struct doctor *d);
void check_ripgrep(struct doctor *d);
void check_certificates(struct doctor *d);

void check_no_daemon(struct doctor *d);
void check_daemon(struct doctor *d);
void check_daemon_claim(struct doctor *d);
void check_daemon_cgroup(struct doctor *d);
void check_daemon_user(struct doctor *d);
void check_daemon_limits(struct doctor *d);
void check_daemon_sharing(struct doctor *d);
void check_daemon_uids(struct doctor *d);
void check_daemon_level(struct doctor *d);
void check_daemon_network(struct doctor *d);
void check_daemon_root(struct doctor *d);
void check_daemon_direct(struct doctor *d);
void check_daemon_key_memory(struct doctor *d);
void check_daemon_state(struct doctor *d);
void check_daemon_harnesses(struct doctor *d);
void check_daemon_mcp(struct doctor *d);
