# layers.awk - reads file names, prints file:line of every include that the tables in layers.sh do not allow.
BEGIN {
	n = split(ENVIRON["layers"], row, "\n")
	for (i = 1; i <= n; i++) {
		k = split(row[i], f, " ")
		if (k < 2)
			continue
		rank[f[2]] = f[1]
		for (j = 3; j <= k; j++)
			only[f[2]] = only[f[2]] " " f[j] " "
	}
	nlibs = split(ENVIRON["libraries"], row, "\n")
	for (i = 1; i <= nlibs; i++) {
		split(row[i], f, " ")
		libname[i] = f[1]
		libfiles[i] = f[2]
	}
	sessionless = ENVIRON["sessionless"]
	libc = ENVIRON["libc"]
	gsub(/\n/, " ", libc)
	prefixes = ENVIRON["prefixes"]
}
function bad(text) { printf "%s:%d: %s\n", file, line, text; failed = 1 }
function layer_of(path,  p) {
	split(path, p, "/")
	if (p[1] != "daemon")
		return p[1]
	return path ~ /^daemon\/main\.[ch]$/ ? "cli" : p[2]
}
function system_include(name,  i, base) {
	for (i = 1; i <= nlibs; i++)
		if (libname[i] != "" && name ~ ("^" libname[i] "$")) {
			if (file !~ libfiles[i])
				bad("<" name "> is for files matching " libfiles[i] " only")
			return
		}
	base = name
	sub(/\.h$/, "", base)
	if (name !~ prefixes && index(libc, " " base " ") == 0)
		bad("<" name "> is neither libc nor a library known to tests/lint/layers.sh")
}
function project_include(name, mine,  p, other) {
	if (name ~ /(^|\/)cJSON\.h$/)
		return system_include("cJSON.h")
	if (name == "harness.h" && mine == "harnesses")
		name = "harnesses/harness.h"
	if (mine == "tests" && name !~ /\//)
		return  # beside the test itself
	split(name, p, "/")
	other = p[1]
	if (name ~ /\.\./ || name !~ /\// || other == "daemon" || !(other in rank))
		bad("\"" name "\": write the path from daemon/ or from the top (\"base/buf.h\")")
	else if (other != mine && mine in only && index(only[mine], " " other " ") == 0)
		bad(mine "/ may include" only[mine] "only, not " name)
	else if (other != mine && rank[other] + 0 >= rank[mine] + 0)
		bad(mine "/ may not include " name ": it is not a lower layer")
	else if (file ~ sessionless && name ~ /^session\// && name !~ sessionless)
		bad("this file knows no session, and so may not include " name)
}
{
	file = $0
	mine = layer_of(file)
	line = 0
	if (!(mine in rank))
		bad("this folder is no layer known to tests/lint/layers.sh")
	while (mine in rank && (getline text < file) > 0) {
		line++
		if (text !~ /^[ \t]*#[ \t]*include/)
			continue
		sub(/^[ \t]*#[ \t]*include(_next)?[ \t]*/, "", text)
		name = substr(text, 2)
		if (text ~ /^<[^>]+>/ && sub(/>.*/, "", name))
			system_include(name)
		else if (text ~ /^"[^"]+"/ && sub(/".*/, "", name))
			project_include(name, mine)
		else
			bad("an include must name its file")
	}
	close(file)
	files++
}
END {
	if (!files) {
		print "layers: no C file found"
		exit 2
	}
	if (!failed)
		printf "layers: %d files, no violation\n", files
	exit failed
}
