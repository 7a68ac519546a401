/* hosted_set.h - the servers of one configuration file: the daemon's, or that of a session's project. Only for
 * hosted.c. */
#pragma once

#include "tools/hosted/hosted.h"
#include "tools/hosted/hosted_server.h"

struct hosted_set {
	struct list link;
	struct hosted *hosted; /* of a session: whose list it is in */
	char *path, *session;  /* session NULL: the daemon's own */
	struct mcpfile file;
	struct secrets secrets;
	struct hosted_server **servers; /* as many as entries */
};

/* servers: the settings that they share. serial: makes their marks differ from those of any other set. */
struct hosted_set *hosted_set_new(const struct hosted_server_config *servers,
				  const struct mcpfile_source *source, unsigned serial);
/* All of its servers must be down. */
void hosted_set_delete(struct hosted_set *set);
void hosted_set_stop(struct hosted_set *set, void (*down)(void *ctx), void *ctx);
void hosted_set_kill(struct hosted_set *set);
bool hosted_set_down(const struct hosted_set *set);
/* Into arrays that are open. */
void hosted_set_put_servers(const struct hosted_set *set, struct jw *w);
void hosted_set_put_problems(const struct hosted_set *set, struct jw *w);
void hosted_set_count(const struct hosted_set *set, struct hosted_totals *totals);
