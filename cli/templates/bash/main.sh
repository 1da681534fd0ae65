# {{name}}: a slash command and a tool, in bash with jq. Start with the two functions at the top.

# stdout belongs to the protocol: descriptor 3 is the protocol, and all other output goes to the log.
exec 3>&1 1>&2

# /{{command}}: its output is shown to the user.
greet() {
  printf 'Hello, %s.' "${1:-you}"
}

# {{tool}}: receives its arguments as JSON. The model receives its output; a non-zero status makes it an error.
count_words() {
  local text
  if ! text=$(jq -er '.text | strings' <<<"$1"); then
    printf '`text` must be a string'
    return 1
  fi
  printf '%d' "$(wc -w <<<"$text")"
}

if ! command -v jq >/dev/null; then
  echo '{{name}}: jq not found in PATH; install it from https://jqlang.org'
  exit 1
fi

# Sets $quoted to the text as a JSON string.
quote() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\t'/\\t}
  quoted="\"${text//[[:cntrl:]]/}\""
}

on_command() {
  case $name in
  '{{command}}')
    quote "$(greet "$args")"
    echo "{\"type\":\"command_response\",\"id\":\"$id\",\"action\":\"display\",\"display\":$quoted}" >&3
    ;;
  *)
    quote "unknown command /$name"
    echo "{\"type\":\"command_response\",\"id\":\"$id\",\"error\":$quoted}" >&3
    ;;
  esac
}

on_tool() {
  local text failed=false
  case $name in
  '{{tool}}') text=$(count_words "$args") || failed=true ;;
  *) text="unknown tool $name" failed=true ;;
  esac
  quote "$text"
  echo "{\"type\":\"tool_result\",\"id\":\"$id\",\"content\":[{\"type\":\"text\",\"text\":$quoted}],\"is_error\":$failed}" >&3
}

cat >&3 <<'FRAMES'
{"type":"hello","name":"{{name}}","version":"0.1.0","capabilities":["commands","tools"]}
{"type":"register_command","name":"{{command}}","description":"Greet someone"}
{"type":"register_tool","name":"{{tool}}","description":"Counts the words in the given text.","schema":{"type":"object","properties":{"text":{"type":"string","description":"The text."}},"required":["text"]}}
{"type":"ready"}
FRAMES

# One jq process reads all frames and prints type, id, name and args of each on one line. A tool's args are JSON, a command's are text.
fields='[.type, .id // "-", .name // "-", (.args // "" | if type == "string" then . else tojson end)] | @tsv'

while IFS=$'\t' read -r type id name args; do
  # Undo the escaping of @tsv.
  printf -v args '%b' "$args"
  case $type in
  command_invoked) on_command ;;
  tool_call) on_tool ;;
  shutdown)
    echo '{"type":"shutdown_ack"}' >&3
    exit
    ;;
  esac
done < <(jq --unbuffered -r "$fields")
