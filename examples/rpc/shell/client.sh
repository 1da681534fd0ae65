#!/usr/bin/env bash
# Drives `zot rpc` from a shell: sends a prompt and prints the text as it streams. Needs jq.
#
#   ./client.sh "what does this project do?" [FLAGS OF zot rpc...]
#
# Ctrl-C aborts the turn; a command that fails makes the exit code 1.
set -uo pipefail

message=${1:?usage: client.sh MESSAGE [FLAGS...]}
shift
zot=${ZOT:-zot}
if ! command -v jq >/dev/null; then
  echo "error: jq not found; this client reads JSON with it" >&2
  exit 2
fi

# In a session of its own Ctrl-C does not reach zot: it reaches us, and we say what it means.
coproc agent { exec setsid "$zot" rpc "$@"; }
# A copy to read from: the shell closes its own as soon as zot has ended, whether or not all is read.
exec {from}<&"${agent[0]}"
to=${agent[1]} pid=$agent_PID

send() { printf '%s\n' "$1" >&"$to"; }

trap 'send "{\"type\":\"abort\"}"' INT

send "$(jq -cn --arg message "$message" '{id: "1", type: "prompt", message: $message}')"
# There is nothing more to say but perhaps `abort`, so our end stays open until `done`.
failed=0 part=
while true; do
  # A second at the most: a signal that comes just before it waits is not heard until it has.
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
  turn_end)
    if [ "$(jq -r .stop <<<"$line")" = error ]; then
      jq -r '"error: " + .error' <<<"$line" >&2
      failed=1
    fi
    ;;
  done) break ;;
  esac
done
echo
# That was all we have to say; what it may still say is read, so that it need not wait for us.
exec {to}>&-
cat <&"$from" >/dev/null
wait "$pid" || failed=1
exit "$failed"
