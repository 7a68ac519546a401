/*
 * finding.c - the list of doctor's findings, its exit code, and its two output formats.
 *
 * Each check is of a kind, and kinds[] assigns an exit code to each kind. Codes begin at 10, beyond those of all
 * subcommands (cli/cmd.h); they are documented in daemon/acpd.1 and images/README.md, and keep their meaning. The
 * order of the enum is the rank of the kinds: the code is that of the first kind with a problem. The list has a
 * bound, but a full one still accepts the first problem of each kind, so the bound never changes the exit code. Any
 * other finding then overwrites `lost`, so findings_add never returns NULL. Texts are made of what others wrote:
 * they are cut to one line.
 */
#include "cli/cmd.h"
#include "cli/doctor/doctor.h"

#include "base/util.h"
#include "base/err.h"
#include "json/jenc.h"

#include <stdarg.h>

static const struct {
	const char *name;
	int code;
} kinds[KINDS] = {
	[KIND_SETTINGS] = { "settings", 10 },
	[KIND_PROGRAMS] = { "programs", 11 },
	[KIND_DIRECTORIES] = { "directories", 12 },
	[KIND_DISK] = { "disk", 13 },
	[KIND_PORT] = { "port", 14 },
	[KIND_CLOCK] = { "clock", 15 },
	[KIND_USERS] = { "users", 16 },
	[KIND_ROOT] = { "root", 17 },
	[KIND_KERNEL] = { "kernel", 18 },
	[KIND_HARNESS] = { "harness", 19 },
	[KIND_NODE] = { "node", 20 },
	[KIND_PYTHON] = { "python", 21 },
	[KIND_GIT] = { "git", 22 },
	[KIND_RIPGREP] = { "ripgrep", 23 },
	[KIND_CERTIFICATES] = { "certificates", 24 },
	[KIND_MCP] = { "mcp", 25 },
	[KIND_STATE] = { "state", 26 },
	[KIND_DAEMON] = { "daemon", 27 },
	[KIND_CLAIM] = { "claim", 28 },
	[KIND_LOOPBACK] = { "loopback", 29 },
};

/* Of the output for people, and of the other. */
static const char *const marks[] = { "ok", "--", "FAIL" };
static const char *const words[] = { "ok", "warning", "trouble" };

struct finding *findings_add(struct findings *f, enum found_level level, enum doctor_kind kind,
			     const char *id, const char *subject)
{
	bool first = level == FOUND_TROUBLE && !f->trouble[kind];
	bool room = f->n < DOCTOR_FINDINGS_MAX || first;
	struct finding *one = room ? GROW(f->at, f->n) : &f->lost;

	f->trouble[kind] |= level == FOUND_TROUBLE;
	f->more += !room;
	*one = (struct finding){ .id = id, .kind = kind, .level = level };
	snprintf(one->subject, sizeof(one->subject), "%s", subject ? subject : "");
	err_flatten(one->subject);
	return one;
}

void findings_done(struct findings *f)
{
	free(f->at);
	*f = (struct findings){ 0 };
}

void finding_hint(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->hint, sizeof(f->hint), fmt, ap);
	va_end(ap);
	err_flatten(f->hint);
}

int findings_code(const struct findings *f)
{
	for (unsigned kind = 0; kind < KINDS; kind++)
		if (f->trouble[kind])
			return kinds[kind].code;
	return 0;
}

static void finding_print(const struct finding *one)
{
	char label[96];

	snprintf(label, sizeof(label), "%s%s%s", one->id, *one->subject ? " " : "", one->subject);
	for (char *p = label; *p && p < label + strlen(one->id); p++)
		if (*p == '-')
			*p = ' ';
	printf("%-4s %-22s %s\n", marks[one->level], label, one->message);
	if (*one->hint && one->level != FOUND_OK)
		printf("%-27s > %s\n", "", one->hint);
}

void findings_print(const struct findings *f)
{
	for (int level = FOUND_TROUBLE; level >= FOUND_OK; level--)
		for (size_t i = 0; i < f->n; i++)
			if (f->at[i].level == (enum found_level)level)
				finding_print(&f->at[i]);
	if (f->more)
		printf("%-27s and %zu more\n", "", f->more);
}

static void finding_put(struct jw *w, const struct finding *one)
{
	jw_object(w, NULL, JW_STR("id", one->id),
		  JW_STR("subject", *one->subject ? one->subject : NULL),
		  JW_STR("kind", kinds[one->kind].name), JW_STR("level", words[one->level]),
		  JW_STR("message", one->message), JW_STR("hint", *one->hint ? one->hint : NULL));
}

void findings_print_json(const struct findings *f, struct slice daemon)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_arr(&w, "findings");
	for (size_t i = 0; i < f->n; i++)
		finding_put(&w, &f->at[i]);
	jw_end_arr(&w);
	if (f->more)
		jw_uint(&w, "more", f->more);
	jw_raw(&w, "daemon", daemon);
	jw_int(&w, "exitCode", findings_code(f));
	jw_end_obj(&w);
	print_pretty(buf_slice(&b));
}
