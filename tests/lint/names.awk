# names.awk - reads file names, sorted. Prints each file whose base name, and each line whose tag, stands somewhere else already.
# The harness whose folder this is in; "" if it is in none.
function harness(path,  p) {
	return split(path, p, "/") > 2 && p[1] == "harnesses" ? p[2] : ""
}
function parallel(a, b) {
	return harness(a) != "" && harness(b) != "" && harness(a) != harness(b)
}
# place: within one, a name may stand as often as it likes.
function note(kind, name, place, file, line,  i, other) {
	for (i = 1; i <= count[kind, name]; i++) {
		other = at[kind, name, i]
		if (other == place)
			return
		if (parallel(other, place))
			continue
		printf "%s:%d: the %s %s stands in %s too\n", file, line, kind, name, other
		failed = 1
		break
	}
	at[kind, name, ++count[kind, name]] = place
}
{
	files++
	folder = base = $0
	sub(/[^\/]*$/, "", folder)
	sub(/^.*\//, "", base)
	sub(/\.[^.]*$/, "", base)
	note("file", base, folder, $0, 0)
	line = 0
	while ((getline text < $0) > 0) {
		line++
		if ($0 ~ /\.[ch]$/ && match(text, /^static [A-Za-z0-9_ \t*]*[ \t*][A-Za-z][A-Za-z0-9_]*\(/)) {
			name = substr(text, RSTART, RLENGTH - 1)
			sub(/^.*[ \t*]/, "", name)
			note("static function", name, $0, $0, line)
		}
		if ($0 !~ /\.[ch]$/ || text !~ /^[ \t]*((static|const|typedef)[ \t]+)*(struct|union|enum)[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*\{/)
			continue
		sub(/[ \t]*\{.*/, "", text)
		sub(/^.*[ \t]/, "", text)
		note("tag", text, $0, $0, line)
	}
	close($0)
}
END {
	if (!files) {
		print "names: no file found"
		exit 2
	}
	if (!failed)
		printf "names: %d files, no name stands twice\n", files
	exit failed
}
