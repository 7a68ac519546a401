# tries.sh - the ways to root that a process may try, and what "id -u" says at the end of each, "no" if nothing: lines "way answer". Run in a
# directory that its user may write.
ssh='ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'

try() { # way, command
	answer=$(sh -c "$2" </dev/null 2>/dev/null | tail -n 1)
	echo "$1 ${answer:-no}"
}

try su 'su root -c "id -u"'
try su-and-sudo 'su user -c "sudo -n id -u"'
try sudo 'sudo -n id -u'
try ssh "$ssh root@127.0.0.1 id -u"
try ssh-and-sudo "$ssh user@127.0.0.1 sudo -n id -u"
try polkit 'pkexec id -u'
try systemd 'systemd-run --quiet --wait --pipe id -u'
# A job has no no_new_privs: it is one only if the way into the queue gives it.
echo "(su root -c 'id -u' || sudo -n id -u || echo job) >$PWD/job 2>/dev/null" >job.sh
try at 'at -f job.sh now && for i in 1 2 3 4 5 6 7 8 9 10; do [ -s job ] || sleep 0.3; done && cat job'
try cron 'echo "* * * * * root id -u" | crontab - && echo job'
try unit 'echo >/etc/systemd/system/acpd.service && echo written'
