# compare.awk -v column=guarded.agent expected.txt results - what the probe said beside the table of tests/probe: a line for each act that
# came to something else, then how many were compared. An act whose key was not given, or whose program is not here, is not tried.
/^#/ || NF == 0 { next }
FNR == NR && !at {
	for (i = 2; i <= NF; i++)
		if ($i == column)
			at = i
	if (!at) {
		print "no column " column
		exit
	}
	next
}
FNR == NR {
	for (i = at; $i == "=";)
		i--
	want[$1] = "|" $i "|"
	next
}
NF == 2 {
	if (!($1 in want))
		print $1 ": no row"
	else if ($2 != "-" && want[$1] != "|*|" && !index(want[$1], "|" $2 "|"))
		print $1 ": " $2 ", not " want[$1]
	tried += $2 != "-"
}
END { print "tried " tried }
