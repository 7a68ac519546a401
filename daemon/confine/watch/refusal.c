/*
 * refusal.c - the text of a refusal: a printable detail, the errno name, and the smallest setting
 * that would allow it.
 *
 * The confined process chooses the bytes of a detail, and logs and users read them. Control
 * characters and bytes that are not UTF-8 therefore become "?". The rules are settings that a user
 * can write: a level, a directory, a network entry.
 */
#include "confine/watch/refusal.h"

#include "base/format/utf8.h"
#include "base/util.h"
#include "confine/watch/caller.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define FIRST_PRINTABLE 0x20
#define DELETE 0x7f

void refusal_set_detail(struct refusal *r, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), at = 0;

	while (left > 0) {
		size_t n = *p < 0x80 ? 1 : utf8_sequence(p, left);
		bool plain = n > 1 || (n == 1 && *p >= FIRST_PRINTABLE && *p != DELETE);

		n = n ? n : 1;
		if (at + n >= sizeof(r->detail))
			break;
		if (plain)
			memcpy(r->detail + at, p, n);
		else
			r->detail[at] = '?';
		at += n;
		p += n;
		left -= n;
	}
	r->detail[at] = '\0';
}

const char *refusal_errno(const struct refusal *r)
{
	const char *name = strerrorname_np(r->error);

	return name ? name : "EUNKNOWN";
}

const char *refusal_why(const struct refusal *r)
{
	return r->row ? r->row->why : NULL;
}

/* --- rules ---------------------------------------------------------------------------------------------------- */

/* ENOSYS is what an older kernel says, and programs know that kernel. */
bool refusal_is_harmless(const struct refusal *r)
{
	return r->kind == REFUSED_CALL && r->error == ENOSYS;
}

static void put_call_rule(const struct refusal *r, struct buf *b)
{
	if (refusal_is_harmless(r))
		buf_puts(b, "nothing to do: programs take another way");
	else if (r->row->flat)
		buf_puts(b, "level guarded");
	else
		buf_puts(b, "none but level open");
}

/* All but the last part of a path. */
static size_t directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

static void put_write_rule(const struct refusal *r, struct buf *b)
{
	buf_puts(
		b,
		"a variable of env that moves it below HOME or TMPDIR, or additionalDirectories [\"");
	buf_add(b, r->detail, directory_length(r->detail));
	buf_puts(b, "\"]");
}

static void put_host_rule(const struct refusal *r, struct buf *b)
{
	const char *colon = strrchr(r->detail, ':');
	size_t n = colon ? (size_t)(colon - r->detail) : strlen(r->detail);
	bool v6 = n > 2 && r->detail[0] == '[';

	if (colon && strcmp(colon, ":53") == 0) {
		buf_puts(
			b,
			"none: the proxy resolves names (HTTPS_PROXY); name the host in network.allow");
		return;
	}
	buf_puts(b, "network {\"mode\": \"allowlist\", \"allow\": [{\"host\": \"");
	buf_add(b, r->detail + v6, n - 2 * (size_t)v6);
	buf_printf(b, "\", \"ports\": [%s]}]}, and the proxy (HTTPS_PROXY)",
		   colon ? colon + 1 : "");
}

void refusal_put_rule(const struct refusal *r, struct buf *b)
{
	static void (*const put[])(const struct refusal *r, struct buf *b) = {
		[REFUSED_CALL] = put_call_rule,
		[REFUSED_WRITE] = put_write_rule,
		[REFUSED_HOST] = put_host_rule,
	};

	put[r->kind](r, b);
}

/* --- details: numbers -------------------------------------------------------------------------------------------------- */

struct number_name {
	uint64_t number;
	const char *name;
};

#define NAME(n)                                                                                    \
	{                                                                                          \
		n, #n                                                                              \
	}

/* clang-format off */
static const struct number_name socket_families[] = {
	NAME(AF_UNIX), NAME(AF_INET), NAME(AF_INET6), NAME(AF_NETLINK), NAME(AF_PACKET), NAME(AF_VSOCK), NAME(AF_ALG),
	NAME(AF_BLUETOOTH), NAME(AF_CAN), NAME(AF_TIPC), NAME(AF_RDS), NAME(AF_XDP), NAME(AF_KEY), NAME(AF_KCM),
	NAME(AF_IB), NAME(AF_NFC), NAME(AF_QIPCRTR), NAME(AF_SMC), NAME(AF_PPPOX), NAME(AF_X25), NAME(AF_AX25),
};
static const struct number_name socket_types[] = {
	NAME(SOCK_STREAM), NAME(SOCK_DGRAM), NAME(SOCK_RAW), NAME(SOCK_RDM), NAME(SOCK_SEQPACKET), NAME(SOCK_DCCP),
	NAME(SOCK_PACKET),
};
static const struct number_name netlink_protocols[] = {
	NAME(NETLINK_AUDIT), NAME(NETLINK_NETFILTER), NAME(NETLINK_XFRM), NAME(NETLINK_CRYPTO), NAME(NETLINK_CONNECTOR),
	NAME(NETLINK_SELINUX), NAME(NETLINK_ISCSI), NAME(NETLINK_FIB_LOOKUP), NAME(NETLINK_RDMA),
};
static const struct number_name inet_protocols[] = {
	NAME(IPPROTO_ICMP), NAME(IPPROTO_TCP), NAME(IPPROTO_UDP), NAME(IPPROTO_SCTP), NAME(IPPROTO_ICMPV6),
	NAME(IPPROTO_RAW), { 115, "IPPROTO_L2TP" },
};
static const struct number_name requests[] = {
	NAME(TIOCSTI), NAME(TIOCLINUX), NAME(TIOCCONS), NAME(TIOCSETD),
};
static const struct number_name namespaces[] = {
	NAME(CLONE_NEWUSER), NAME(CLONE_NEWNS), NAME(CLONE_NEWPID), NAME(CLONE_NEWNET), NAME(CLONE_NEWIPC),
	NAME(CLONE_NEWUTS), NAME(CLONE_NEWCGROUP),
};
/* clang-format on */

static const char *find_name(const struct number_name *names, size_t n, uint64_t number)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}
#define FIND(names, number) find_name(names, ARRAY_SIZE(names), number)

struct words {
	char text[REFUSAL_DETAIL_MAX];
	size_t n;
};

static void detail_put_word(struct words *w, const char *between, const char *word)
{
	int n = snprintf(w->text + w->n, sizeof(w->text) - w->n, "%s%s", w->n ? between : "", word);

	w->n = MIN(w->n + (size_t)MAX(n, 0), sizeof(w->text) - 1);
}

static void detail_put_number(struct words *w, const char *name, uint64_t number)
{
	detail_put_word(w, " ", name ? name : SHORT_TEXT(24, "0x%llx", (unsigned long long)number));
}

/* --- kinds of calls ------------------------------------------------------------------------------------------- */

static void describe_socket(struct words *w, pid_t pid _unused_, const uint64_t *args,
			    unsigned arg _unused_)
{
	uint32_t family = (uint32_t)args[0], type = (uint32_t)args[1] & 0xf,
		 protocol = (uint32_t)args[2];

	detail_put_number(w, FIND(socket_families, family), family);
	detail_put_number(w, FIND(socket_types, type), type);
	if (protocol)
		detail_put_number(w,
				  family == AF_NETLINK ? FIND(netlink_protocols, protocol) :
							 FIND(inet_protocols, protocol),
				  protocol);
}

static void describe_request(struct words *w, pid_t pid _unused_, const uint64_t *args,
			     unsigned arg)
{
	detail_put_number(w, FIND(requests, (uint32_t)args[arg]), (uint32_t)args[arg]);
}

static void put_namespaces(struct words *w, uint64_t flags, bool clocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (flags & namespaces[i].number)
			detail_put_word(w, "|", namespaces[i].name);
	if (clocks && flags & CLONE_NEWTIME)
		detail_put_word(w, "|", "CLONE_NEWTIME");
}

static void describe_clone(struct words *w, pid_t pid _unused_, const uint64_t *args, unsigned arg)
{
	put_namespaces(w, args[arg], false);
}

static void describe_unshare(struct words *w, pid_t pid _unused_, const uint64_t *args,
			     unsigned arg)
{
	put_namespaces(w, args[arg], true);
}

static void describe_clone3(struct words *w, pid_t pid, const uint64_t *args, unsigned arg)
{
	uint64_t flags;

	if (caller_bytes(pid, args[arg], &flags, sizeof(flags)) == 0)
		put_namespaces(w, flags, true);
}

static void describe_number(struct words *w, pid_t pid _unused_, const uint64_t *args, unsigned arg)
{
	detail_put_number(w, NULL, (uint32_t)args[arg]);
}

static void describe_path(struct words *w, pid_t pid, const uint64_t *args, unsigned arg)
{
	char path[CALLER_PATH_MAX];

	if (args[arg] && caller_path(pid, AT_FDCWD, args[arg], path) == 0)
		detail_put_word(w, " ", path);
}

static void describe_text(struct words *w, pid_t pid, const uint64_t *args, unsigned arg)
{
	char text[REFUSAL_DETAIL_MAX];

	if (args[arg] && caller_text(pid, args[arg], text, sizeof(text)) == 0)
		detail_put_word(w, " ", text);
}

/* The type and where. */
static void describe_mount(struct words *w, pid_t pid, const uint64_t *args, unsigned arg)
{
	describe_text(w, pid, args, 2);
	describe_path(w, pid, args, arg);
}

static const struct {
	const char *call;
	void (*describe)(struct words *w, pid_t pid, const uint64_t *args, unsigned arg);
	unsigned arg;
} calls[] = {
	{ "socket", describe_socket, 0 },      { "socketpair", describe_socket, 0 },
	{ "ioctl", describe_request, 1 },      { "unshare", describe_unshare, 0 },
	{ "clone", describe_clone, 0 },	       { "clone3", describe_clone3, 0 },
	{ "personality", describe_number, 0 }, { "bpf", describe_number, 0 },
	{ "keyctl", describe_number, 0 },      { "add_key", describe_text, 0 },
	{ "request_key", describe_text, 0 },   { "mount", describe_mount, 1 },
	{ "umount2", describe_path, 0 },       { "pivot_root", describe_path, 0 },
	{ "chroot", describe_path, 0 },	       { "acct", describe_path, 0 },
	{ "swapon", describe_path, 0 },	       { "swapoff", describe_path, 0 },
	{ "fsopen", describe_text, 0 },	       { "delete_module", describe_text, 0 },
};

void refusal_describe(struct refusal *r, pid_t caller, const uint64_t args[CONFINE_CALL_ARGS])
{
	struct words w = { .n = 0 };

	w.text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].call, r->call) == 0)
			calls[i].describe(&w, caller, args, calls[i].arg);
	refusal_set_detail(r, w.text);
}

/* --- the record ------------------------------------------------------------------------------------------ */

/*
 * The table of distinct refusals, which the supervisor thread fills and the loop
 * reads.
 *
 * The lock protects the entries. The reference count is atomic, because both threads drop
 * references. The eventfd is written for new entries only, so a process that repeats one refused
 * call does not wake the loop. `taken` is the count at the last read; an entry is never removed.
 * Searches are linear, limited by REFUSALS_MAX.
 */
struct entry {
	struct refusal refusal;
	uint64_t taken; /* its count, when it was */
};

struct refusals {
	pthread_mutex_t lock;
	unsigned refs;
	int news;
	size_t n;
	uint64_t more;
	struct entry entries[REFUSALS_MAX];
};

struct refusals *refusals_new(void)
{
	struct refusals *r = new0(struct refusals);

	pthread_mutex_init(&r->lock, NULL);
	r->refs = 1;
	r->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r;
}

struct refusals *refusals_ref(struct refusals *r)
{
	if (r)
		__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

struct refusals *refusals_unref(struct refusals *r)
{
	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		return NULL;
	closep(&r->news);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

int refusals_fd(const struct refusals *r)
{
	return r->news;
}

void refusals_seen(struct refusals *r)
{
	eventfd_t n;

	eventfd_read(r->news, &n);
}

static bool refusal_same(const struct refusal *a, const struct refusal *b)
{
	return a->kind == b->kind && a->error == b->error && strcmp(a->call, b->call) == 0 &&
	       strcmp(a->detail, b->detail) == 0;
}

static void refusals_note(struct refusals *r, const struct refusal *one)
{
	struct entry *e = r->entries;

	for (size_t i = 0; i < r->n; i++, e++) {
		if (refusal_same(&e->refusal, one)) {
			e->refusal.count++;
			return;
		}
	}
	/* The confined process decides how many differ. */
	if (r->n == REFUSALS_MAX) {
		r->more++;
		return;
	}
	r->n++;
	*e = (struct entry){ .refusal = *one };
	e->refusal.count = 1;
	eventfd_write(r->news, 1);
}

void refusals_add(struct refusals *r, const struct refusal *one)
{
	pthread_mutex_lock(&r->lock);
	refusals_note(r, one);
	pthread_mutex_unlock(&r->lock);
}

static bool refusals_next(struct refusals *r, bool again, struct refusal *ret)
{
	for (size_t i = 0; i < r->n; i++) {
		struct entry *e = &r->entries[i];

		if (again ? e->taken == e->refusal.count : e->taken > 0)
			continue;
		e->taken = e->refusal.count;
		*ret = e->refusal;
		return true;
	}
	return false;
}

bool refusals_take(struct refusals *r, bool again, struct refusal *ret)
{
	bool found;

	pthread_mutex_lock(&r->lock);
	found = refusals_next(r, again, ret);
	pthread_mutex_unlock(&r->lock);
	return found;
}

uint64_t refusals_take_more(struct refusals *r)
{
	uint64_t more;

	pthread_mutex_lock(&r->lock);
	more = r->more;
	r->more = 0;
	pthread_mutex_unlock(&r->lock);
	return more;
}
