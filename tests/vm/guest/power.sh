# power.sh - what the guest does while its power is cut: turns of several sessions at once, whose state is on a disk. First it says what is
# there of the boots before: a line "record SESSION TURN" for each usage record, "ended SESSION TURN" for each end of a turn in the
# journals, which session/load tells. Then a line "answered SESSION TURN" as soon as a prompt has its answer.
export PATH=/opt:/bin HOME=/tmp
SESSIONS=3

mkdir -p /boot /disk
echo root:*:::::: >/etc/shadow
echo 0123456789abcdef0123456789abcdef >/etc/token
chmod 600 /etc/token /etc/shadow
echo '{"harnesses":[{"id":"stub","command":"/opt/stub-agent","args":["--no-store"]}]}' >/etc/harnesses.json
mount -t ext4 /dev/nvme0n1 /disk || { echo "broken: no disk"; exit; }
mkdir -p /disk/work
acpd serve --listen 127.0.0.1:0 --state /disk/state --run-dir /run/acpd --harness-config /etc/harnesses.json --level open \
	--token-file /etc/token >/tmp/out 2>/tmp/log &
daemon=$!
for i in $(seq 240); do
	grep -q listening /tmp/out && break
	sleep 0.25
done
grep -q listening /tmp/out || { echo "broken: it does not listen"; tail -n 3 /tmp/log; exit; }

# One client, by the bridge: ask ID JSON writes a message, $answer is the line that answers it, $seen the lines before it.
begin() {
	mkfifo "/tmp/in$1" "/tmp/out$1"
	acpd acp --run-dir /run/acpd --token-file /etc/token <"/tmp/in$1" >"/tmp/out$1" 2>/dev/null &
	exec 3>"/tmp/in$1" 4<"/tmp/out$1"
	ask 0 '"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"_meta":{"acpd":{}}}}'
}
ask() {
	echo "{\"jsonrpc\":\"2.0\",\"id\":$1,$2}" >&3
	seen=''
	while read -r answer <&4; do
		case $answer in
		*"\"id\":$1,"* | *"\"id\":$1}"*) return 0 ;;
		*_acpd/turn_end*) seen="$seen$answer
" ;;
		esac
	done
	return 1
}

# What is there.
acpd usage --state /disk/state --json | sed -n 's/.*"type":"turn","sessionId":"\([^"]*\)","turn":\([0-9]*\),.*/record \1 \2/p'
acpd usage --state /disk/state --json >/dev/null || echo "broken: the ledger"
(
	begin old
	n=0
	for session in $(cat /disk/sessions 2>/dev/null); do
		n=$((n + 1))
		ask $n "\"method\":\"session/load\",\"params\":{\"sessionId\":\"$session\",\"cwd\":\"/disk/work\",\"mcpServers\":[]}"
		echo "$seen" | sed -n "s/.*\"turn\":\([0-9]*\).*/ended $session \1/p"
	done
)
echo told
grep -q last /proc/cmdline && exit

# The list is on the disk before a prompt is sent.
work() {
	begin "$1"
	ask 1 '"method":"session/new","params":{"cwd":"/disk/work","mcpServers":[],"_meta":{"acpd":{"harness":"stub"}}}'
	session=$(echo "$answer" | sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p')
	echo "$session" >>/disk/sessions
	sync
	turn=1
	while ask $((turn + 1)) "\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"$session\",\"prompt\":[{\"type\":\"text\",\"text\":\"turn $turn\"}]}"; do
		case $answer in
		*end_turn*) echo "answered $session $turn" ;;
		*) echo "broken: $answer" ;;
		esac
		turn=$((turn + 1))
	done
}
for i in $(seq $SESSIONS); do
	work "$i" &
done
wait $daemon
echo "broken: it has ended"
