# Thought for the day: /fortune shows one, "/fortune add ..." saves your own. Requires bash and jq.

# stdout is reserved for the protocol: it becomes descriptor 3, and printed output goes to the log.
exec 3>&1 1>&2

# say TYPE [jq arguments]: writes one frame. `--arg` escapes user input.
say() {
  local type=$1
  shift
  jq -cn --arg type "$type" "{type: \$type} + ($1)" "${@:2}" >&3
}

own="" # the user's own thoughts, one per line

fortune() {
  local all
  all=$(cat fortunes.txt ${own:+"$own"} 2>/dev/null)
  mapfile -t all <<<"$all"
  printf '%s' "${all[RANDOM % ${#all[@]}]}"
}

say hello '{name: "fortune", version: "1.0.0", capabilities: ["commands", "events"]}'
say register_command '{name: "fortune", description: "show a thought for the day; add ... saves your own"}'
say subscribe '{events: ["session_start"]}'
say ready '{}'

# One jq process reads all frames. Fields are separated by a character that does not occur in text.
fields='[.type, .id // "", .args // "", .event // "", .data_dir // ""] | map(gsub("[\u001f\n]"; " ")) | join("\u001f")'

while IFS=$'\x1f' read -r type id args event data; do
  case $type in
  hello_ack) own=${data:+$data/own.txt} ;;
  event) say notify '{level: "info", message: $text}' --arg text "$(fortune)" ;;
  command_invoked)
    case $args in
    "add "*)
      if [ -n "$own" ] && printf '%s\n' "${args#add }" >>"$own"; then
        say command_response '{id: $id, action: "display", display: "saved"}' --arg id "$id"
      else
        say command_response '{id: $id, error: "cannot save the thought"}' --arg id "$id"
      fi
      ;;
    *) say command_response '{id: $id, action: "display", display: $text}' --arg id "$id" --arg text "$(fortune)" ;;
    esac
    ;;
  shutdown)
    say shutdown_ack '{}'
    exit
    ;;
  esac
done < <(jq --unbuffered -r "$fields")
