/*
 * uid_range.c - parses --agent-uids, and checks that no other user or group of the machine has one
 * of these ids.
 *
 * The databases are enumerated once, not searched for each uid. If this fails, a conflict could be
 * missed, so the range is refused. A user in the range must be agent-N with a primary group of the
 * same number, and such a group must have no members; any other user or group in it is an error.
 * Uids without user or group are only counted, since programs such as ssh need the name.
 */
#include "proc/users/uid_range.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/util.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>

static int uid_range_invalid(struct err *e, const char *text, const char *why)
{
	return err_field(e, "agent-uids", "OPTION_INVALID", "--agent-uids: '%s': %s", text, why);
}

int uid_range_parse(const char *text, struct uid_range *ret, struct err *e)
{
	struct slice last = slice_of(text), first;
	uint64_t a, b;

	*ret = (struct uid_range){ 0 };
	if (!last.n)
		return 0;
	if (!slice_cut(&last, '-', &first) || !u64_parse(first, &a) || !u64_parse(last, &b) ||
	    MAX(a, b) > AGENT_UID_MAX)
		return uid_range_invalid(e, text, "it is FIRST-LAST, two numbers below 2147483648");
	*ret = (struct uid_range){ (uid_t)a, (uid_t)b };
	if (ret->first == 0 || ret->last < ret->first)
		return uid_range_invalid(e, text, "FIRST is at least 1 and not above LAST");
	if (ret->last - ret->first >= AGENT_UIDS_MAX)
		return uid_range_invalid(e, text, "it has too many uids");
	return 0;
}

bool uid_range_has(const struct uid_range *r, uid_t uid)
{
	return r->first && uid >= r->first && uid <= r->last;
}

unsigned uid_range_size(const struct uid_range *r)
{
	return r->first ? r->last - r->first + 1 : 0;
}

char *uid_range_name(uid_t uid, char name[UID_RANGE_NAME])
{
	snprintf(name, UID_RANGE_NAME, "agent-%u", (unsigned)uid);
	return name;
}

/* 1: this one is ours; 0: it is none of the range. */
static int uid_range_check_id(const struct uid_range *r, const char *kind, const char *name,
			      uid_t id, bool whole, struct err *e)
{
	char own[UID_RANGE_NAME];

	if (!uid_range_has(r, id))
		return 0;
	if (whole && strcmp(name, uid_range_name(id, own)) == 0)
		return 1;
	return err_field(e, "agent-uids", "AGENT_UIDS_TAKEN",
			 "--agent-uids: %u is the %s '%s'; the uids of sessions are nobody else's",
			 (unsigned)id, kind, name);
}

struct entry_space {
	char *p;
	size_t n;
};

static void entry_space_done(struct entry_space *s)
{
	free(s->p);
}

static struct entry_space entry_space_new(void)
{
	return (struct entry_space){ xalloc(ACCOUNT_BYTES), ACCOUNT_BYTES };
}

/* Handles an error of the enumeration. Returns 0: there is more space now, and the same entry can be read again. An
 * entry that cannot be read may be in the range. */
static int entry_space_grow(struct entry_space *s, int error, const char *kind, struct err *e)
{
	if (error != ERANGE || s->n >= ACCOUNT_BYTES_MAX)
		return err_field(e, "agent-uids", "AGENT_UIDS_TAKEN",
				 "--agent-uids: cannot read the %s database: %s", kind,
				 error == ERANGE ? "an entry is too long" : strerror(error));
	s->n *= 2;
	free(s->p);
	s->p = xalloc(s->n);
	return 0;
}

static int count_users(const struct uid_range *r, unsigned *n, struct err *e)
{
	_cleanup_(entry_space_done) struct entry_space s = entry_space_new();
	struct passwd pw = { 0 }, *got = NULL;
	int found = 0, error;

	setpwent();
	while (found >= 0 && (error = getpwent_r(&pw, s.p, s.n, &got)) != ENOENT) {
		found = error ? entry_space_grow(&s, error, "user", e) :
				uid_range_check_id(r, "user", pw.pw_name, pw.pw_uid,
						   pw.pw_uid == pw.pw_gid, e);
		*n += found > 0;
	}
	endpwent();
	return found < 0 ? -EEXIST : 0;
}

static int count_groups(const struct uid_range *r, unsigned *n, struct err *e)
{
	_cleanup_(entry_space_done) struct entry_space s = entry_space_new();
	struct group gr = { 0 }, *got = NULL;
	int found = 0, error;

	setgrent();
	while (found >= 0 && (error = getgrent_r(&gr, s.p, s.n, &got)) != ENOENT) {
		found = error ? entry_space_grow(&s, error, "group", e) :
				uid_range_check_id(r, "group", gr.gr_name, gr.gr_gid, !*gr.gr_mem,
						   e);
		*n += found > 0;
	}
	endgrent();
	return found < 0 ? -EEXIST : 0;
}

int uid_range_look(const struct uid_range *r, unsigned *bare, struct err *e)
{
	unsigned users = 0, groups = 0, size = uid_range_size(r);

	*bare = 0;
	if (!size)
		return 0;
	if (count_users(r, &users, e) < 0 || count_groups(r, &groups, e) < 0)
		return -EEXIST;
	*bare = size - MIN(size, MIN(users, groups));
	return 0;
}

/* --- the lock -------------------------------------------------------------------------------------------- */

static int uid_range_in_use(const struct uid_lock *l, const struct uid_range *range,
			    struct flock want, struct err *e)
{
	char by[32] = "";

	if (fcntl(l->fd, F_GETLK, &want) == 0 && want.l_type != F_UNLCK)
		snprintf(by, sizeof(by), " (process %d)", (int)want.l_pid);
	return err_set(e, -EBUSY, 0, "AGENT_UIDS_IN_USE",
		       "cannot use --agent-uids %u-%u: another daemon%s has uids of that range; "
		       "give each daemon a range of its own",
		       (unsigned)range->first, (unsigned)range->last, by);
}

static void log_range_unlocked(const struct uid_range *range, const char *why)
{
	log_warn("serve", "uid range not locked", "path", UID_LOCK_FILE, "uids",
		 SHORT_TEXT(2 * UID_RANGE_NAME, "%u-%u", (unsigned)range->first,
			    (unsigned)range->last),
		 "why", why);
}

/* A record lock is the process's alone; an open-file lock would live on in children until they run their program, and a
 * daemon that is started at once after a kill would be refused (as in owner.c). */
int uid_lock_take(struct uid_lock *l, const struct uid_range *range, struct err *e)
{
	struct flock want = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = range->first,
			      .l_len = (off_t)uid_range_size(range) };

	/* A length of 0 would lock the file to its end: the uids of every range. */
	if (!want.l_len)
		return 0;
	l->fd = open(UID_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->fd >= 0 && fcntl(l->fd, F_SETLK, &want) == 0)
		return 0;
	if (l->fd >= 0 && (errno == EAGAIN || errno == EACCES))
		return uid_range_in_use(l, range, want, e);
	log_range_unlocked(range, strerror(errno));
	return 0;
}

void uid_lock_release(struct uid_lock *l)
{
	closep(&l->fd);
	l->fd = -1;
}
