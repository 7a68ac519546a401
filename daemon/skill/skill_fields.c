/*
 * skill_fields.c - the rules for the keys of the frontmatter, a row of a table each.
 *
 * Lengths are in characters (code points), as the format counts. The frontmatter is UTF-8: front_split has checked it. A
 * fatal finding is only what keeps clients from using the skill at all, so most rules are errors.
 */
#include "skill/skill_internal.h"

#include "base/util.h"
#include "base/format/utf8.h"

/* --- characters ------------------------------------------------------------------------------------------ */

static size_t utf8_count(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The characters that Python's str.strip removes. */
static bool utf8_is_space(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0x09, 0x0d },	    { 0x1c, 0x20 },	{ 0x85, 0x85 },	    { 0xa0, 0xa0 },
		{ 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f },
		{ 0x205f, 0x205f }, { 0x3000, 0x3000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static bool utf8_is_blank(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	for (size_t left = strlen(text); left; p += n, left -= n) {
		uint32_t c;

		n = *p < 0x80 ? 1 : utf8_sequence(p, left);
		/* The first of n bytes has n leading ones and a zero; the others have six bits each. */
		c = n == 1 ? *p : *p & (0x7fu >> n);
		for (size_t i = 1; i < n; i++)
			c = c << 6 | (p[i] & 0x3f);
		if (!n || !utf8_is_space(c))
			return false;
	}
	return true;
}

struct field_check {
	struct skill_report *r;
	const char *dir;
	const char *field; /* with metadata, the whole path */
	unsigned line;
};

#define field_note(c, severity, code, ...)                                                         \
	skill_note((c)->r, severity, code, AT_FIELD((c)->field, (c)->line), __VA_ARGS__)

/* --- what a plain scalar is to others ------------------------------------------------------------------ */

static bool yaml_is_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

static bool yaml_is_null(const struct front_node *v)
{
	return v->type == FRONT_SCALAR && v->plain &&
	       (!*v->text || strcmp(v->text, "~") == 0 || strcasecmp(v->text, "null") == 0);
}

/* A date of YAML 1.1, which many readers turn into an object. */
static bool yaml_is_date(const char *s)
{
	static const char form[] = "dddd-dd-dd";

	for (const char *f = form; *f; f++, s++)
		if (*f == 'd' ? *s < '0' || *s > '9' : *s != '-')
			return false;
	return !*s || *s == 'T' || *s == ' ';
}

/* A number of YAML 1.1 or 1.2, decimal, hexadecimal, octal or floating: readers of either turn it into one. */
static bool yaml_is_number(const char *s)
{
	static const char *const words[] = { ".inf", ".nan", NULL };
	size_t digits = 0, n;

	s += *s == '+' || *s == '-';
	if (yaml_is_word(s, words))
		return true;
	/* Octal digits are checked as hexadecimal ones: a false hit is only a warning. */
	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'o'))
		return s[2] && !s[2 + strspn(s + 2, "0123456789abcdefABCDEF")];
	n = strspn(s, "0123456789");
	digits = n;
	s += n;
	if (*s == '.') {
		n = strspn(++s, "0123456789");
		digits += n;
		s += n;
	}
	if (digits && (*s | 0x20) == 'e') {
		s++;
		s += *s == '+' || *s == '-';
		digits = strspn(s, "0123456789");
		s += digits;
	}
	return digits && !*s;
}

static const char *yaml_other_type(const struct front_node *v)
{
	static const char *const bools[] = { "true", "false", "yes", "no", "on", "off", NULL };

	/* In quotes it is text for every reader. */
	if (!v->plain)
		return NULL;
	if (yaml_is_null(v))
		return "nothing (null)";
	if (yaml_is_word(v->text, bools))
		return "a boolean";
	return yaml_is_number(v->text) ? "a number" : yaml_is_date(v->text) ? "a date" : NULL;
}

static void warn_other_type(struct field_check *c, const struct front_node *v)
{
	const char *type = yaml_other_type(v);

	if (type)
		field_note(c, SKILL_WARNING, "NOT_TEXT",
			   "readers of YAML take it for %s: put it in quotes", type);
}

static bool field_has_control(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && !strchr("\t\n\r", *text)) || *text == 0x7f)
			return true;
	return false;
}

/* --- rules that several fields have -------------------------------------------------------------------- */

struct text_rule {
	const char *type_code, *empty_code, *long_code; /* NULL: there is no such rule */
	enum skill_severity without;			/* not text, or empty */
	size_t max;
};

/* The field's text, or NULL with a finding. */
static const char *field_text(struct field_check *c, const struct front_node *v,
			      const struct text_rule *rule)
{
	size_t n;

	if (v->type != FRONT_SCALAR) {
		field_note(c, rule->without, rule->type_code, "a %s where text is wanted",
			   v->type == FRONT_LIST ? "list" : "mapping");
		return NULL;
	}
	if (rule->empty_code && (yaml_is_null(v) || utf8_is_blank(v->text))) {
		field_note(c, rule->without, rule->empty_code, "there is no text in it");
		return NULL;
	}
	warn_other_type(c, v);
	if (field_has_control(v->text))
		field_note(c, SKILL_WARNING, "CONTROL_CHARACTER",
			   "there are control characters in it");
	n = utf8_count(v->text);
	if (rule->long_code && n > rule->max)
		skill_note(c->r, SKILL_ERROR, rule->long_code,
			   (struct skill_at){ .field = c->field,
					      .line = c->line,
					      .has_limit = true,
					      .limit = rule->max,
					      .used = n },
			   "%zu characters, at most %zu are allowed", n, rule->max);
	return v->text;
}

/* --- name ---------------------------------------------------------------------------------------------- */

enum name_fault { NAME_UPPER, NAME_FOREIGN, NAME_OTHER, NAME_FAULTS };

static unsigned name_faults(const char *name)
{
	unsigned faults = 0;

	for (; *name; name++) {
		unsigned char ch = (unsigned char)*name;

		if (ch >= 'A' && ch <= 'Z')
			faults |= 1u << NAME_UPPER;
		else if (ch >= 0x80)
			faults |= 1u << NAME_FOREIGN;
		else if (ch != '-' && (ch < '0' || ch > '9') && (ch < 'a' || ch > 'z'))
			faults |= 1u << NAME_OTHER;
	}
	return faults;
}

static void check_characters(struct field_check *c, const char *name)
{
	static const struct {
		const char *code, *msg;
	} rows[NAME_FAULTS] = {
		[NAME_UPPER] = { "NAME_UPPERCASE", "capital letters are not allowed" },
		[NAME_FOREIGN] = { "NAME_NOT_ASCII", "letters other than a-z are not allowed" },
		[NAME_OTHER] = { "NAME_CHARACTERS", "only a-z, digits and hyphens are allowed" },
	};
	unsigned faults = name_faults(name);

	/* A finding for each kind, not for each character. */
	for (size_t i = 0; i < NAME_FAULTS; i++)
		if (faults & 1u << i)
			field_note(c, SKILL_ERROR, rows[i].code, "%s", rows[i].msg);
}

static void field_name(struct field_check *c, const struct front_node *v)
{
	static const struct text_rule rule = { "NAME_TYPE", "NAME_EMPTY", "NAME_TOO_LONG",
					       SKILL_ERROR, SKILL_NAME_MAX };
	const char *name = field_text(c, v, &rule);

	if (!name)
		return;
	c->r->skill.name = xstrdup(name);
	check_characters(c, name);
	/* field_text has refused an empty name, so there is a last character. */
	if (name[0] == '-' || name[strlen(name) - 1] == '-')
		field_note(c, SKILL_ERROR, "NAME_HYPHEN_EDGE", "it begins or ends with a hyphen");
	if (strstr(name, "--"))
		field_note(c, SKILL_ERROR, "NAME_HYPHEN_DOUBLE", "two hyphens follow each other");
	if (c->dir && strcmp(name, c->dir) != 0)
		field_note(c, SKILL_ERROR, "NAME_MISMATCH",
			   "the skill's directory is called '%.64s'", c->dir);
}

/* --- the other fields ------------------------------------------------------------------------------------ */

/* Names of findings are paths, "metadata.version", so the key of the file is cut and cleaned for them. */
static void field_metadata(struct field_check *c, const struct front_node *v)
{
	static const struct text_rule rule = { "METADATA_VALUE_TYPE", NULL, NULL, SKILL_ERROR, 0 };
	struct skill *s = &c->r->skill;
	size_t n = 0;

	if (yaml_is_null(v))
		return;
	if (v->type != FRONT_MAP) {
		field_note(c, SKILL_ERROR, "METADATA_TYPE", "metadata is not a mapping");
		return;
	}
	for (const struct front_node *k = v->child; k; k = k->next->next)
		n++;
	/* Counted for one allocation. Pairs that are refused leave its end unused. */
	s->metadata = xalloc(n * sizeof(*s->metadata));
	for (const struct front_node *k = v->child; k; k = k->next->next) {
		char path[96];
		struct field_check one = { c->r, NULL, path, k->line };
		const char *text;

		snprintf(path, sizeof(path), "metadata.%.80s", k->text);
		err_flatten(path);
		text = field_text(&one, k->next, &rule);
		if (text)
			s->metadata[s->nmetadata++] =
				(struct skill_pair){ xstrdup(k->text), xstrdup(text) };
	}
}

static void field_tool_list(struct field_check *c, const struct front_node *v)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (const struct front_node *i = v->child; i; i = i->next) {
		if (i->type != FRONT_SCALAR) {
			field_note(c, SKILL_ERROR, "ALLOWED_TOOLS_TYPE",
				   "not all of the list is text");
			return;
		}
		buf_printf(&b, "%s%s", buf_len(&b) ? " " : "", i->text);
	}
	/* Also for an empty list: the key exists, so its text is "" and not NULL. */
	buf_putc(&b, '\0');
	c->r->skill.allowed_tools = xstrdup(b.data);
	field_note(c, SKILL_WARNING, "ALLOWED_TOOLS_LIST",
		   "a list where one text with spaces is understood by all");
}

static void field_allowed_tools(struct field_check *c, const struct front_node *v)
{
	static const struct text_rule rule = { "ALLOWED_TOOLS_TYPE", NULL, NULL, SKILL_ERROR, 0 };

	if (v->type == FRONT_LIST)
		field_tool_list(c, v);
	else
		c->r->skill.allowed_tools = xstrdup(field_text(c, v, &rule));
}

/* A field has a function of its own, or is a text in struct skill. */
static const struct {
	const char *key;
	void (*take)(struct field_check *c, const struct front_node *v);
	const char *missing; /* code, if it is required */
	enum skill_severity without;
	size_t text;
	struct text_rule rule;
} field_rules[] = {
	{ "name", .take = field_name, .missing = "NAME_MISSING", .without = SKILL_ERROR },
	{ "description", .missing = "DESCRIPTION_MISSING", .without = SKILL_FATAL,
	  .text = offsetof(struct skill, description),
	  .rule = { "DESCRIPTION_TYPE", "DESCRIPTION_EMPTY", "DESCRIPTION_TOO_LONG", SKILL_FATAL,
		    SKILL_DESCRIPTION_MAX } },
	{ "license", .text = offsetof(struct skill, license),
	  .rule = { "LICENSE_TYPE", NULL, NULL, SKILL_ERROR, 0 } },
	{ "compatibility", .text = offsetof(struct skill, compatibility),
	  .rule = { "COMPATIBILITY_TYPE", "COMPATIBILITY_EMPTY", "COMPATIBILITY_TOO_LONG",
		    SKILL_ERROR, SKILL_COMPATIBILITY_MAX } },
	{ "metadata", .take = field_metadata },
	{ "allowed-tools", .take = field_allowed_tools },
};

static void field_take(struct field_check *c, size_t row, const struct front_node *v)
{
	char **text = (char **)((char *)&c->r->skill + field_rules[row].text);

	if (field_rules[row].take)
		field_rules[row].take(c, v);
	else
		*text = xstrdup(field_text(c, v, &field_rules[row].rule));
}

/* Other programs have keys of their own (disable-model-invocation, user-invocable): a strict error, for clients a
 * remark. */
static void field_unknown(struct skill_report *r, const struct front_node *key)
{
	struct skill *s = &r->skill;
	char *path = SHORT_TEXT(96, "%.90s", key->text);

	err_flatten(path);
	skill_note(r, SKILL_ERROR, "KEY_UNKNOWN", AT_FIELD(path, key->line),
		   "the format has no such key; clients may use it or not");
	*GROW(s->unknown, s->nunknown) = xstrdup(key->text);
}

static size_t field_find(const char *key)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(field_rules) && strcmp(field_rules[i].key, key) != 0)
		i++;
	return i;
}

/* Missing keys are reported after those that are there, so that findings are in the order of the file first. */
void skill_check_fields(const struct front_node *root, const char *dir, struct skill_report *r)
{
	bool seen[ARRAY_SIZE(field_rules) + 1] = { false };

	for (const struct front_node *k = root->child; k; k = k->next->next) {
		size_t i = field_find(k->text);
		struct field_check c = { r, dir, k->text, k->line };

		/* field_find returns the number of rows for an unknown key: seen has an element for these. */
		seen[i] = true;
		if (i < ARRAY_SIZE(field_rules))
			field_take(&c, i, k->next);
		else
			field_unknown(r, k);
	}
	for (size_t i = 0; i < ARRAY_SIZE(field_rules); i++)
		if (!seen[i] && field_rules[i].missing)
			skill_note(r, field_rules[i].without, field_rules[i].missing,
				   AT_FIELD(field_rules[i].key, 0), "the key is missing");
}
