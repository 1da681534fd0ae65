# {{name}}: a slash command and a tool, in bash with jq. Start with the two functions at the top.

# stdout belongs to the protocol: it is kept as 3, and whatever else prints goes to the log.
exec 3>&1 1>&2

# /{{command}}: what it prints is shown to the user.
greet() {
  printf 'Hello, %s.' "${1:-you}"
}

# {{tool}}: what it prints is what the model gets.
count_words() {
  printf '%d' "$(wc -w <<<"$1")"
}

# say 'JQ OBJECT' [jq options]: one frame. What is on stdin is `$text` in it, so that whatever it holds stays a string.
say() {
  jq -cRs --unbuffered "${@:2}" ". as \$text | $1" >&3
}

# field NAME: a text of the frame that was read; fails where it is another thing than a text.
field() {
  jq -er "$1 | strings" <<<"$line"
}

on_command() {
  case $name in
  "{{command}}") greet "$(field .args)" | say '{type: "command_response", id: $id, action: "display", display: $text}' --arg id "$id" ;;
  *) printf 'there is no /%s here' "$name" | say '{type: "command_response", id: $id, error: $text}' --arg id "$id" ;;
  esac
}

on_tool() {
  local text failed=false
  case $name in
  "{{tool}}")
    if text=$(field .args.text); then
      text=$(count_words "$text")
    else
      text='`text` must be a string' failed=true
    fi
    ;;
  *) text="there is no tool $name here" failed=true ;;
  esac
  printf '%s' "$text" |
    say '{type: "tool_result", id: $id, content: [{type: "text", text: $text}], is_error: $failed}' --arg id "$id" --argjson failed "$failed"
}

if ! command -v jq >/dev/null; then
  echo "{{name}} needs jq, which is not on the PATH: https://jqlang.org"
  exit 1
fi

say '{type: "hello", name: "{{name}}", version: "0.1.0", capabilities: ["commands", "tools"]}' </dev/null
say '{type: "register_command", name: "{{command}}", description: "a greeting"}' </dev/null
say '{type: "register_tool", name: "{{tool}}", description: "Counts the words of a text.", schema: {
  type: "object", properties: {text: {type: "string", description: "The text."}}, required: ["text"]}}' </dev/null
say '{type: "ready"}' </dev/null

while IFS= read -r line; do
  id=$(field .id) name=$(field .name)
  case $(field .type) in
  command_invoked) on_command ;;
  tool_call) on_tool ;;
  shutdown)
    say '{type: "shutdown_ack"}' </dev/null
    exit
    ;;
  esac
done
