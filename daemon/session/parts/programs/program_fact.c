/* program_fact.c - what is said of one program. */
#include "session/parts/programs/programs.h"

#include <ctype.h>

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

/* The version may end a sentence. */
static bool goes_on(const char *at)
{
	return in_word(*at) && !(*at == '.' && !in_word(at[1]));
}

bool program_fits(const struct program_fact *f)
{
	const char *want = f->pin && f->version ? f->pin->version : NULL, *at = f->version;
	size_t n = want ? strlen(want) : 0;

	while (want && (at = strstr(at, want))) {
		if ((at == f->version || !in_word(at[-1])) && !goes_on(at + n))
			return true;
		at++;
	}
	return false;
}

static void put_pin(struct jw *w, const struct harness_pin *pin)
{
	jw_object(w, "pin", JW_STR("package", pin->package), JW_STR("release", pin->release),
		  JW_STR("version", pin->version), JW_STR("file", pin->file),
		  JW_STR("sha256", pin->sha256),
		  JW_STR("of", pin->kind == PIN_TREE ? "package" : "file"));
}

void program_put(struct jw *w, const struct program_fact *f)
{
	jw_obj(w, NULL);
	jw_str(w, "id", f->def->id);
	jw_str(w, "title", f->def->title ? f->def->title : f->def->id);
	jw_str(w, "command", f->def->command);
	jw_bool(w, "installed", f->path);
	jw_str(w, "path", f->path);
	jw_str(w, "version", f->version);
	if (f->pin && f->version)
		jw_bool(w, "versionFits", program_fits(f));
	if (f->pin)
		put_pin(w, f->pin);
	if (*f->why.reason)
		jw_object(w, "problem", JW_STR("reason", f->why.reason),
			  JW_STR("message", f->why.msg));
	jw_end_obj(w);
}
