# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Runs a command with a journald of its own: journal.sh OUTPUT BEFORE COMMAND...
#
# In a mount namespace of its own, as root. OUTPUT gets the journal as JSON; BEFORE is shell, and may use $journald.
set -e
output=$1 before=$2
shift 2
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
mount --bind /dev/null /dev/kmsg
mkdir -p /run/systemd/journal /run/systemd/journald.conf.d /run/log/journal
# The kernel's auditing stays as it is.
printf '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=\nForwardToSyslog=no\nForwardToWall=no\n' \
    >/run/systemd/journald.conf.d/test.conf
setpriv --pdeathsig KILL /usr/lib/systemd/systemd-journald &
journald=$!
for _ in $(seq 200); do
    if [ -S /run/systemd/journal/stdout ]; then break; fi
    sleep 0.05
done
eval "$before"
status=0
"$@" || status=$?
kill -CONT "$journald"
journalctl --sync
# Values above 4,096 bytes are left out without --all.
journalctl --quiet --all --output=json >"$output"
kill "$journald"
wait "$journald" || true
exit "$status"
