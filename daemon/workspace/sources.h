/*
 * sources.h - the sources of a request's files: uploaded archives, skills of the image, directories in the sandbox.
 * They are checked before the request has any effect, even before a directory is made, so that the commonest mistake
 * (an archive that was not uploaded, or is gone from the store) has none. acpd-unpack checks their contents.
 *
 * An archive can go between this check and its use: its user pins it, and that may fail.
 */
#pragma once

#include "workspace/request.h"
#include "workspace/workspaces.h"

/* ARCHIVE_NOT_FOUND or SKILL_NOT_FOUND with the field; prefix as in request_parse. */
int sources_check(const struct workspaces *ws, const struct request *r, const char *prefix,
		  struct err *e);
/* The directory of a skill that does not come from an archive; NULL: the image has none. The caller frees. */
char *sources_skill_path(const struct workspaces *ws, const struct request_skill *s);
