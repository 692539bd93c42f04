#!/bin/sh
# Runs nats-server, and ends it once it stopped storing data and its disk stores data again. What runs this script, such
# as systemd or a container engine, must then start it again.
#
#   sh broker.sh <folder of the broker's data> <command of nats-server>
#
# After one failed write to its disk, nats-server refuses all further writes to that stream until it is restarted.
set -eu
store=$1
shift
# nats-server replaces this shell, so it keeps the process id, and receives the signals of systemd.
broker=$$

stores_data() {
  stored=no
  dd if=/dev/zero of="$store/.write-check" bs=1048576 count=4 conv=fsync 2>/dev/null && stored=yes
  rm -f "$store/.write-check"
  [ "$stored" = yes ]
}

runs() { kill -0 "$broker" 2>/dev/null; }

mend() {
  # If the disk stores data at once, only a part of it may be damaged. Then do not restart the broker all the time.
  if stores_data; then wait=15; else wait=0; fi
  while runs && { [ "$wait" -gt 0 ] || ! stores_data; }; do
    sleep 1
    wait=$((wait - 1))
  done
  runs || return 0
  echo "The broker's disk stores data. Ending the broker, so that it is started again." >&2
  kill -TERM "$broker"
}

watch() {
  # Signals are for nats-server. This process ends when nats-server has closed its log.
  trap '' TERM INT HUP USR1 USR2
  mending=no
  while IFS= read -r line; do
    printf '%s\n' "$line" >&2
    case $line in
      *"[ERR] "*"write error"* | *"[ERR] "*"failed to store a msg"* | *"will be DISABLED"* | *"disabling JetStream"*)
        if [ "$mending" = no ]; then
          mending=yes
          echo "The broker cannot store data, so writes fail. It is restarted once its disk stores data again." >&2
          mend &
        fi
        ;;
    esac
  done
}

log=$(mktemp -d)
mkfifo "$log/log"
watch <"$log/log" &
exec 2>"$log/log"
rm -r "$log"
exec "$@"
