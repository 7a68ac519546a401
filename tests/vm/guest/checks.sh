# checks.sh - what the guest is asked: a line of TAP for each check, and what came instead where one fails. guest/init starts it.
export PATH=/opt:/bin HOME=/tmp
GROUPS_ROOT=/sys/fs/cgroup
MIB=1048576
number=0

# result NAME GOT: good if the last command was
result() {
	[ $? = 0 ] && good='' || good='not '
	number=$((number + 1))
	echo "${good}ok $number - $1"
	[ -z "$good" ] || echo "$2" | sed 's/^/# /' | head -n 40
}
# is NAME WANTED GOT; has NAME PATTERN TEXT: a line of it matches
is() { [ "$2" = "$3" ]; result "$1" "wanted: $2
got: $3"; }
has() { echo "$3" | grep -Eq -e "$2"; result "$1" "no line like $2 in:
$3"; }

# --- a daemon -------------------------------------------------------------------------------------------------------

mkdir -p /boot
echo root:*:::::: >/etc/shadow
echo 0123456789abcdef0123456789abcdef >/etc/token
chmod 600 /etc/token /etc/shadow
echo '{"harnesses":[{"id":"stub","command":"/bin/env","args":["/opt/stub-agent","--no-store"]}]}' >/etc/harnesses.json

# up NAME CGROUP [OPTION...]: $daemon and $name are it until the next
up() {
	name=$1 group=$2
	shift 2
	mkdir -p "$group" /srv/$name /srv/$name/work
	chmod 777 /srv/$name/work
	sh -c 'echo 0 >"$0/cgroup.procs"; exec acpd serve "$@"' "$group" --listen 127.0.0.1:0 --state /srv/$name/state --run-dir /srv/$name/run \
		--harness-config /etc/harnesses.json --token-file /etc/token "$@" >/srv/$name/out 2>/srv/$name/log &
	daemon=$!
	for i in $(seq 120); do
		grep -q listening /srv/$name/out && return
		sleep 0.5
	done
	echo "# it does not listen:"
	sed 's/^/# /' /srv/$name/log | tail -n 5
}
down() {
	kill "$daemon"
	wait "$daemon"
	is "$name: it ends in good order" 0 $?
	is "$name: no group is left" '' "$(find $GROUPS_ROOT -name 'acpd-*')"
}
# turn PROMPT [OPTION...]: the answer of a session of its own
turn() {
	prompt=$1
	shift
	(cd /srv/$name/work && acpd run --token-file /etc/token --run-dir /srv/$name/run --harness stub --cwd /srv/$name/work --prompt "$prompt" "$@" 2>&1)
}
command() { turn "run $(echo "$1" | sed 's/;/\\;/g')"; }
doctor() { acpd doctor --token-file /etc/token --run-dir /srv/$name/run 2>&1; }
place() { cut -d: -f3 "/proc/$daemon/cgroup"; }
# The daemon moves a moment after it listens.
moved() {
	for i in $(seq 120); do
		place | grep -q '/daemon$' && return
		sleep 0.5
	done
}

# --- the machine ----------------------------------------------------------------------------------------------------

has 'the kernel is 6.1' '^6\.1\.' "$(uname -r)"
has 'Landlock is on' landlock "$(cat /sys/kernel/security/lsm)"
has 'cgroup v2 has memory, pids and cpu' 'cpu .*memory .*pids' "$(cat $GROUPS_ROOT/cgroup.controllers)"

# --- cgroup v2: a daemon in the root group -----------------------------------------------------------------------------

up root $GROUPS_ROOT --limit-memory $((128 * MIB)) --limit-pids 50
said=$(doctor)
has 'root: doctor says v2' '^ok +cgroup +v2' "$said"
for limit in memoryBytes pids cpuWeight; do
	has "root: $limit is held by v2" "^ok +limit $limit +cgroup v2" "$said"
done
is 'root: it stays there' / "$(place)"
has 'root: a session has a group below it' '::/acpd-[0-9]+-[0-9]+-[0-9]+/(sess_[0-9a-f]{32}).all/' "$(command 'cat /proc/self/cgroup')"
said=$(command "cd $GROUPS_ROOT/acpd-*/*.all; cat memory.max memory.swap.max pids.max cpu.weight | tr '\n' ' '")
has 'root: the limits are written' "^run:0:$((128 * MIB)) (0 )?50 100 " "$said"
said=$(turn "hog $((400 * MIB))")
has 'root: a harness out of memory is told, with limit' "out of memory: peak [0-9]+ bytes, limit $((128 * MIB)) bytes" "$said"
has 'root: its class is out_of_memory' '"class":[[:space:]]*"out_of_memory"' "$(turn "hog $((400 * MIB))" --json)"
has 'root: a command out of memory does not end the turn' 'killed 137.*on$' "$(turn 'run tail /dev/zero\; echo killed $?; echo on' | tr -d '\n')"
has 'root: a fork bomb ends at pids' '(an.t fork|Resource temporarily|run:2)' \
	"$(command 'for i in $(seq 70); do sleep 20 >/dev/null & done')"
is 'root: and takes nobody along' again "$(turn 'echo again')"
down

# --- a group of its own: it moves into a leaf ---------------------------------------------------------------------------

up service $GROUPS_ROOT/service --limit-memory $((128 * MIB)) --limit-pids 50
moved
has 'service: it has moved into a leaf' '^/service/acpd-[0-9]+-[0-9]+-[0-9]+/daemon$' "$(place)"
has 'service: the controllers are handed down' 'cpu memory pids' "$(cat $GROUPS_ROOT/service/cgroup.subtree_control)"
has 'service: doctor says v2' '^ok +limit memoryBytes +cgroup v2' "$(doctor)"
has 'service: a harness out of memory is told' 'out of memory' "$(turn "hog $((400 * MIB))")"
is 'service: a turn' fine "$(turn 'echo fine')"
down
is 'service: the group is as it was' '' "$(cat $GROUPS_ROOT/service/cgroup.subtree_control)"

# --- a kill, and what the next one finds -----------------------------------------------------------------------------------

up killed $GROUPS_ROOT/service --limit-memory $((128 * MIB))
command 'setsid sleep 300 >/dev/null 2>&1 & echo $! >pid; sleep 200' >/dev/null &
until [ -s /srv/$name/work/pid ]; do
	sleep 0.2
done
pid=$(cat /srv/$name/work/pid)
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
has 'killed: its groups are there' /service/acpd- "$(find $GROUPS_ROOT -name 'acpd-*')"
[ -d "/proc/$pid" ]
result 'killed: a process of its session lives' "pid $pid"
mine=$(find $GROUPS_ROOT -name 'acpd-*')
up killed $GROUPS_ROOT --limit-memory $((128 * MIB))
left=0
for dir in $mine; do
	[ ! -e "$dir" ] || left=$((left + 1))
done
is 'killed: the next one has removed them' 0 $left
[ ! -d "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status"
result 'killed: and ended what ran in them' "pid $pid: $(cat "/proc/$pid/cmdline" 2>/dev/null)"
down

# --- others sit in its group ------------------------------------------------------------------------------------------------

mkdir -p $GROUPS_ROOT/shared
sleep 3600 &
other=$!
echo $other >$GROUPS_ROOT/shared/cgroup.procs
up shared $GROUPS_ROOT/shared
said=$(doctor)
for limit in memoryBytes pids cpuWeight; do
	has "shared: $limit is missing, and why" "limit $limit +none: .*other processes sit in our cgroup" "$said"
done
is 'shared: it stays there' /shared "$(place)"
has 'shared: a session has a group to be killed in' '::/shared/acpd-' "$(command 'cat /proc/self/cgroup')"
down
kill $other

# --- the helpers, under Landlock ABI 2 ------------------------------------------------------------------------------------

mkdir -p /srv/tree/in
echo text >/srv/tree/in/file
tar -c -z -f /srv/tree.tar.gz -C /srv/tree in
up helpers $GROUPS_ROOT --agent-user agent --log debug
said=$(turn 'run cat in/file' --archive /srv/tree.tar.gz)
is 'acpd-unpack extracts' 'run:0:text' "$(echo "$said" | sed '/^$/d')"
is 'to the user of agents' agent "$(stat -c %U /srv/helpers/work/in/file)"
for helper in acpd-fetch acpd-proxy; do
	said=$($helper probe 65534 65534 2>&1 </dev/null)
	result "$helper can confine itself" "$said"
	echo "# $helper probe: $said"
done
down

# --- the probe at each level --------------------------------------------------------------------------------------------------

su nobody -s /bin/sh -c 'exec sleep 3600' &
stranger=$!
httpd -f -p 127.0.0.1:8099 &
web=$!
chmod 666 /dev/ttyS0

# probe COLUMN OPTION...: a daemon of that kind and level
probe() {
	column=$1
	shift
	up "${column%.*}-${column#*.}" $GROUPS_ROOT "$@"
	for to in confine-probe setuid-probe; do
		cp /opt/confine-probe "/srv/$name/work/$to"
	done
	chmod 4755 "/srv/$name/work/setuid-probe"
	turn self --keep >/dev/null # a neighbour
	home=$(echo /srv/$name/state/homes/sess_*)
	has "$column: the level" 'level +(guarded|strict)' "$(doctor)"
	command "/srv/$name/work/confine-probe daemon=$daemon other=$stranger setuid=/srv/$name/work/setuid-probe terminal=/dev/ttyS0 token=/etc/token \
state=/srv/$name/state home=$home control=/srv/$name/run/control.sock port=8099; echo end" >/srv/$name/results
	sed -i 's/^run:0://' /srv/$name/results
	has "$column: the probe comes to its end" '^end$' "$(cat /srv/$name/results)"
	said=$(awk -v column="$column" -f /compare.awk /expected.txt /srv/$name/results)
	is "$column: all acts come to what the table says" '' "$(echo "$said" | grep -v '^tried ')"
	[ "$(echo "$said" | sed -n 's/^tried //p')" -gt 200 ]
	result "$column: $(echo "$said" | grep '^tried ') acts" "$said"
	down
}

# a uid that all sessions share is not all that guarded asks for: so far as can be had
probe guarded.agent --agent-user agent
probe guarded.own --agent-user agent --agent-uids 61001-61016 --level guarded
probe strict.own --agent-user agent --agent-uids 61001-61016 --level strict
kill $stranger $web

echo "1..$number"
