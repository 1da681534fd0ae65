#!/usr/bin/env bash
# Drives `zot rpc` from a shell: sends a prompt and prints the text as it streams. Needs jq.
#
#   ./client.sh "what does this project do?" [FLAGS...]
#
# Ctrl-C aborts the turn. If a command fails, the exit code is 1.
set -uo pipefail

message=${1:?usage: client.sh MESSAGE [FLAGS...]}
shift
zot=${ZOT:-zot}
if ! command -v jq >/dev/null; then
  echo "error: jq not found; this client needs it to read JSON" >&2
  exit 2
fi

# zot runs in its own session, so that Ctrl-C reaches only us and we can send `abort`.
coproc agent { exec setsid "$zot" rpc "$@"; }
# Read from a copy: the shell closes its own descriptor when zot exits, even if output is unread.
exec {from}<&"${agent[0]}"
to=${agent[1]} pid=$agent_PID

send() { printf '%s\n' "$1" >&"$to"; }

trap 'send "{\"type\":\"abort\"}"' INT

send "$(jq -cn --arg message "$message" '{id: "1", type: "prompt", message: $message}')"
# We may still send `abort`, so keep stdin open until `done`.
failed=0 part=
while true; do
  # Wait at most a second: if a signal arrives just before `read`, bash runs the trap only after
  # `read` returns.
  if IFS= read -r -t 1 line <&"$from"; then
    line=$part$line part=
  elif [ $? -gt 128 ]; then
    part+=$line
    continue
  else
    break
  fi
  case $(jq -r .type <<<"$line") in
  text_delta) jq -j .delta <<<"$line" ;;
  response)
    if [ "$(jq -r .success <<<"$line")" = false ]; then
      jq -r '"error: " + .error' <<<"$line" >&2
      failed=1
      break
    fi
    ;;
  error) jq -r '"error: " + .message' <<<"$line" >&2 && failed=1 ;;
  done) break ;;
  esac
done
echo
# There is nothing more to send. Keep reading: zot cannot exit while it waits for us to read its
# output.
exec {to}>&-
cat <&"$from" >/dev/null
wait "$pid" || failed=1
exit "$failed"
