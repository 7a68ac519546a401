/* standing_user.c - as whom a program that stands beside the daemon runs. */
#include "proc/standing.h"

#include "json/jenc.h"

#include <pwd.h>
#include <stdio.h>

static bool is_user(const char *name, uid_t uid)
{
	struct passwd *pw = name && *name ? getpwnam(name) : NULL;

	return pw && pw->pw_uid == uid;
}

/* One that is there and not the agent's; the last if none is. */
static const char *usual_user(const struct standing *s)
{
	const char *const usual[] = { s->name, "nobody", "daemon" };
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		struct passwd *pw = getpwnam(usual[i]);

		name = usual[i];
		if (pw && pw->pw_uid != 0 && !is_user(s->agent_user, pw->pw_uid))
			break;
	}
	return name;
}

int standing_user(const struct standing *s, uid_t *uid, gid_t *gid, struct err *e)
{
	const char *name = s->user ? s->user : usual_user(s);
	struct passwd *pw = getpwnam(name);

	if (!pw)
		return err_field(e, s->option, "OPTION_INVALID", "--%s: no user named '%s'",
				 s->option, name);
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	if (*uid == 0 || is_user(s->agent_user, *uid))
		return err_field(e, s->option, "OPTION_INVALID",
				 "--%s: '%s' is %s, and %s needs another one", s->option, name,
				 *uid == 0 ? "root" : "the agent's user", s->name);
	return 0;
}

static void put_user(const struct standing *s, struct jw *w)
{
	struct passwd *pw;
	struct err e = { 0 };
	uid_t uid = geteuid();
	gid_t gid;

	if (uid == 0 && standing_user(s, &uid, &gid, &e) < 0) {
		jw_str(w, "missing", e.msg);
		return;
	}
	pw = getpwuid(uid);
	jw_str(w, "user", pw ? pw->pw_name : NULL);
}

void standing_put_status(const struct standing *s, struct jw *w)
{
	char why[STANDING_WHY_SIZE];

	jw_str(w, "program", s->program);
	if (s->program) {
		put_user(s, w);
		return;
	}
	snprintf(why, sizeof(why), "%s is not installed", s->name);
	jw_str(w, "missing", why);
}
