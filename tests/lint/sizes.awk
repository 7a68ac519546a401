# sizes.awk - reads file names. Knows enough C to find functions: a brace at file level whose text since the last ; or
# closing brace ends in a parameter list and holds no "=" (that would be an initialiser). Not confused by comments,
# strings, character constants or preprocessor lines.
function bad(line, text) { printf "%s:%d: %s\n", file, line, text; failed = 1 }

# The code of one line: comments and literals are dropped; in_comment lasts over lines.
function code_of(text,  out, at) {
	out = ""
	while (text != "") {
		if (in_comment) {
			if (!(at = index(text, "*/")))
				return out
			text = substr(text, at + 2)
			in_comment = 0
		}
		if (!match(text, /["']|\/[*]|\/\//))
			return out text
		out = out substr(text, 1, RSTART - 1)
		text = substr(text, RSTART)
		if (text ~ /^\/\//)
			return out
		in_comment = text ~ /^\//
		if (in_comment)
			text = substr(text, 3)
		else if (match(text, /^"([^"\\]|\\.)*"/) || match(text, /^'([^'\\]|\\.)*'/))
			text = substr(text, RLENGTH + 1)
		else
			text = substr(text, 2)
	}
	return out
}

# Follows the braces of one line; depth 0 is file level, head the text collected there.
function braces(code, line,  c) {
	while (match(code, /[{};]/)) {
		c = substr(code, RSTART, 1)
		if (depth == 0)
			head = head " " substr(code, 1, RSTART - 1)
		code = substr(code, RSTART + 1)
		if (c == "{" && depth++ == 0)
			start = head ~ /\)[ \t]*$/ && head !~ /=/ ? line : 0
		else if (c == "}" && --depth == 0 && start)
			count(start, line - start + 1)
		if (c != "{" && depth == 0)
			head = ""
	}
	if (depth == 0)
		head = head " " code
}

function count(start, lines) {
	functions++
	with[lines]++
	longest = lines > longest ? lines : longest
	if (lines > ENVIRON["LINT_FUNCTION_MAX"] + 0)
		bad(start, "this function has " lines " lines, more than " ENVIRON["LINT_FUNCTION_MAX"])
}

function median(  seen, lines) {
	for (lines = 0; lines <= longest; lines++)
		if ((seen += with[lines]) * 2 >= functions)
			return lines
}

{
	file = $0
	n = depth = in_comment = in_directive = 0
	head = ""
	while ((getline text < file) > 0) {
		n++
		directive = in_directive || (!in_comment && text ~ /^[ \t]*#/)
		in_directive = directive && text ~ /\\$/
		code = code_of(text)  # also of a directive: a comment may begin there
		if (!directive && file ~ /\.[ch]$/)
			braces(code, n)
	}
	close(file)
	if (depth != 0)
		bad(n, "braces do not balance; function sizes are not known")
	if (n > ENVIRON["LINT_FILE_MAX"] + 0)
		bad(n, "the file has " n " lines, more than " ENVIRON["LINT_FILE_MAX"])
	files++
}

END {
	if (!files) {
		print "sizes: no file found"
		exit 2
	}
	file = "all functions"
	if ((m = median()) > ENVIRON["LINT_MEDIAN_MAX"] + 0)
		bad(0, "the median function has " m " lines, more than " ENVIRON["LINT_MEDIAN_MAX"])
	printf "sizes: %d files, %d functions, median %s, longest %s lines\n", files, functions, m, longest
	exit failed
}
