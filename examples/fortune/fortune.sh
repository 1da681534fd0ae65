# A thought for the day: /fortune shows one, "/fortune add ..." keeps one of yours. bash with jq.

# stdout belongs to the protocol: it is kept as 3, and whatever prints goes to the log.
exec 3>&1 1>&2

# say TYPE [jq arguments]: one frame. `--arg` quotes what a user typed, so that it stays a string.
say() {
  local type=$1
  shift
  jq -cn --arg type "$type" "{type: \$type} + ($1)" "${@:2}" >&3
}

own="" # thoughts of the user's own, one per line

fortune() {
  local all
  all=$(cat fortunes.txt ${own:+"$own"} 2>/dev/null)
  mapfile -t all <<<"$all"
  printf '%s' "${all[RANDOM % ${#all[@]}]}"
}

say hello '{name: "fortune", version: "1.0.0", capabilities: ["commands", "events"]}'
say register_command '{name: "fortune", description: "a thought for the day; add ... keeps one of yours"}'
say subscribe '{events: ["session_start"]}'
say ready '{}'

# One jq reads all frames. Separated by a character that no text has.
fields='[.type, .id // "", .args // "", .event // "", .data_dir // ""] | map(gsub("[\u001f\n]"; " ")) | join("\u001f")'

while IFS=$'\x1f' read -r type id args event data; do
  case $type in
  hello_ack) own=${data:+$data/own.txt} ;;
  event) say notify '{level: "info", message: $text}' --arg text "$(fortune)" ;;
  command_invoked)
    case $args in
    "add "*)
      if [ -n "$own" ] && printf '%s\n' "${args#add }" >>"$own"; then
        say command_response '{id: $id, action: "display", display: "kept"}' --arg id "$id"
      else
        say command_response '{id: $id, error: "it could not be kept"}' --arg id "$id"
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
