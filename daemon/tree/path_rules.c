/*
 * path_rules.c - checks and normalizes paths of archives and jobs, before any system call sees
 * them.
 *
 * The whole text is checked for forbidden bytes first, then component by component while the clean
 * path is built. So a partially built path is never used. Each refusal has its own reason, which
 * clients receive. Limits are checked against the normalized path, so "./" and "//" do not count.
 */
#include "tree/path_rules.h"

#include "base/format/utf8.h"

const char *path_bytes_fault(struct slice raw)
{
	const unsigned char *p = (const unsigned char *)raw.p;

	for (size_t i = 0; i < raw.n;) {
		size_t len = p[i] < 0x80 ? 1 : utf8_sequence(p + i, raw.n - i);

		if (p[i] < 0x20 || p[i] == 0x7f || (len == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0))
			return "NAME_CONTROL";
		if (p[i] == '\\')
			return "NAME_BACKSLASH";
		if (!len)
			return "NAME_NOT_UTF8";
		i += len;
	}
	return NULL;
}

static bool path_bad(struct path_fault *fault, const char *reason, const char *message)
{
	*fault = (struct path_fault){ .reason = reason, .message = message };
	return false;
}

static bool path_over(struct path_fault *fault, const char *reason, const char *message,
		      uint64_t limit, uint64_t used)
{
	*fault = (struct path_fault){ reason, message, limit, used };
	return false;
}

static bool add_component(struct checked_path *ret, struct slice part,
			  const struct path_limits *limits, struct path_fault *fault)
{
	size_t need = ret->n + (ret->n > 0) + part.n;

	if (slice_is(part, ".."))
		return path_bad(fault, "NAME_DOTDOT", "a component of the path is \"..\"");
	if (part.n > NAME_BYTES_MAX)
		return path_over(fault, "NAME_TOO_LONG", "a component of the path is too long",
				 NAME_BYTES_MAX, part.n);
	if (slice_starts(part, STAGE_PREFIX))
		return path_bad(fault, "NAME_RESERVED", "the name is reserved for staging");
	if (need > limits->path_bytes)
		return path_over(fault, "PATH_TOO_LONG", "the path is too long", limits->path_bytes,
				 need);
	if (ret->depth + 1 > limits->depth)
		return path_over(fault, "PATH_TOO_DEEP", "the path has too many components",
				 limits->depth, ret->depth + 1);
	if (ret->n)
		ret->path[ret->n++] = '/';
	memcpy(ret->path + ret->n, part.p, part.n);
	ret->n += part.n;
	ret->path[ret->n] = '\0';
	ret->depth++;
	return true;
}

static bool has_drive(struct slice raw)
{
	return raw.n >= 2 && raw.p[1] == ':' && (raw.p[0] | 0x20) >= 'a' &&
	       (raw.p[0] | 0x20) <= 'z';
}

static const char *bytes_message(const char *reason)
{
	return strcmp(reason, "NAME_CONTROL") == 0   ? "the path has a control character" :
	       strcmp(reason, "NAME_BACKSLASH") == 0 ? "the path has a backslash" :
						       "the path is not UTF-8";
}

bool checked_path_parse(struct slice raw, const struct path_limits *limits,
			struct checked_path *ret, struct path_fault *fault)
{
	const char *reason = path_bytes_fault(raw);

	ret->path[0] = '\0';
	ret->n = 0;
	ret->depth = 0;
	if (!raw.n)
		return path_bad(fault, "NAME_EMPTY", "the path is empty");
	if (reason)
		return path_bad(fault, reason, bytes_message(reason));
	if (raw.p[0] == '/' || has_drive(raw))
		return path_bad(fault, "NAME_ABSOLUTE", "the path is absolute");
	ret->slash_after = raw.p[raw.n - 1] == '/';
	for (size_t at = 0; at < raw.n;) {
		const char *slash = memchr(raw.p + at, '/', raw.n - at);
		struct slice part = { raw.p + at,
				      slash ? (size_t)(slash - raw.p) - at : raw.n - at };

		at += part.n + 1;
		if (part.n && !slice_is(part, ".") && !add_component(ret, part, limits, fault))
			return false;
	}
	return true;
}

bool checked_path_strip(struct checked_path *name, unsigned components)
{
	const char *p = name->path;

	if (name->depth <= components)
		return components == 0;
	for (unsigned i = 0; i < components; i++)
		p = strchr(p, '/') + 1;
	name->n -= (size_t)(p - name->path);
	name->depth -= components;
	memmove(name->path, p, name->n + 1);
	return true;
}

/* dir has passed checked_path_parse, so only the lengths of both together are checked. */
bool checked_path_under(struct checked_path *name, const char *dir,
			const struct path_limits *limits, struct path_fault *fault)
{
	size_t n = strlen(dir), need = n + (name->n > 0) + name->n;
	unsigned depth = n > 0;

	for (const char *p = dir; *p; p++)
		depth += *p == '/';
	if (!n)
		return true;
	if (need > limits->path_bytes)
		return path_over(fault, "PATH_TOO_LONG", "the path is too long", limits->path_bytes,
				 need);
	if (name->depth + depth > limits->depth)
		return path_over(fault, "PATH_TOO_DEEP", "the path has too many components",
				 limits->depth, name->depth + depth);
	memmove(name->path + n + (name->n > 0), name->path, name->n + 1);
	memcpy(name->path, dir, n);
	if (name->n)
		name->path[n] = '/';
	else
		name->path[n] = '\0';
	name->n = need;
	name->depth += depth;
	return true;
}
