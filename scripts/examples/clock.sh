#!/usr/bin/env bash
# A service in plain shell: the broker's text protocol over the shell's own sockets.
#
#     NATS_URL=$(npm run --silent nats:url) bash scripts/examples/clock.sh
set -euo pipefail
export LC_ALL=C # Sizes are bytes.

[[ ${NATS_URL:?see npm run nats:url} =~ ^nats://([^:@]*):([^@]*)@([^:/]+):([0-9]+) ]] || {
  echo "NATS_URL is not nats://user:pass@host:port: see npm run nats:url" >&2
  exit 1
}
user=${BASH_REMATCH[1]} pass=${BASH_REMATCH[2]}
exec 3<>"/dev/tcp/${BASH_REMATCH[3]}/${BASH_REMATCH[4]}"
trap 'exit 0' TERM INT

publish() { printf 'PUB %s %s%s\r\n%s\r\n' "$1" "${3:+$3 }" "${#2}" "$2" >&3; }

entry='{"name":"clock.now","description":"Tells the time.","auth":"None","kind":"nats","subject":"svc.clock.now"}'
printf 'CONNECT {"verbose":false,"pedantic":false,"user":"%s","pass":"%s","name":"clock"}\r\n' "$user" "$pass" >&3
printf 'SUB svc.clock.now clock 2\r\nSUB _INBOX.clock.%s 1\r\n' "$$" >&3
publish '$KV.handlers.clock.now' "$entry" "_INBOX.clock.$$"

while IFS= read -r line <&3; do
  read -r -a words <<<"${line%$'\r'}"
  case ${words[0]:-} in
    PING) printf 'PONG\r\n' >&3 ;;
    -ERR) echo "$line" >&2 ;;
    MSG) # subject, subscription, reply (if any), size; then the body
      IFS= read -r -d '' -n "$((words[${#words[@]} - 1] + 2))" body <&3 || true
      if [[ ${words[2]} == 2 ]]; then
        [[ $body =~ \"orbId\":\"([^\"]*)\" ]] && orb=${BASH_REMATCH[1]}
        publish "${words[3]}" "{\"now\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"orb\":\"$orb\"}"
      elif [[ $body == *'"error"'* ]]; then
        echo "not registered: $body" >&2
      else
        echo "ready: clock.now"
      fi
      ;;
  esac
done
