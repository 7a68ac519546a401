/* problems.c - keeps what was found damaged on disk, for /ready and doctor, until the daemon ends. */
#include "session/core/store/problems.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/util.h"
#include "json/jenc.h"

struct problem {
	struct list link;
	const char *what;
	char *name, *text;
};

void problems_init(struct problems *p)
{
	list_init(&p->list);
	p->n = 0;
}

void problems_done(struct problems *p)
{
	list_each(x, &p->list, struct problem, link) {
		list_del(&x->link);
		free_each(x->name, x->text, x);
	}
}

void problems_add(struct problems *p, const char *what, const char *name, const char *text)
{
	struct problem *x;

	log_error("state", "something on disk is not as it was written", "what", what, "name",
		  name ? name : "", "text", text);
	/* The log has every problem. The list is limited. */
	if (++p->n > PROBLEMS_MAX)
		return;
	x = new0(struct problem);
	list_init(&x->link);
	x->what = what;
	x->name = name ? xstrdup(name) : NULL;
	x->text = xstrdup(text);
	list_add_tail(&p->list, &x->link);
}

void problems_put(const struct problems *p, struct jw *w, const char *key)
{
	jw_arr(w, key);
	list_each(x, (struct list *)&p->list, struct problem, link) {
		jw_object(w, NULL, JW_STR("what", x->what), JW_STR("name", x->name),
			  JW_STR("text", x->text));
	}
	jw_end_arr(w);
}
