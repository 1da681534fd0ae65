"""{{name}}: a slash command and a tool, without dependencies. Start with the two functions at the top."""

import json
import sys

# stdout belongs to the protocol: a stray print() goes to the log instead.
wire, sys.stdout = sys.stdout, sys.stderr


def greet(args):
    """/{{command}}: the text it returns is shown to the user."""
    return f"Hello, {args or 'you'}."


def count_words(args):
    """{{tool}}: the model receives the text it returns. An exception is sent to the model as an error."""
    text = args.get("text")
    if not isinstance(text, str):
        raise ValueError("`text` must be a string")
    return str(len(text.split()))


COMMANDS = {"{{command}}": greet}
TOOLS = {"{{tool}}": count_words}


def say(**frame):
    # A model may send a lone surrogate, which is not valid UTF-8. ensure_ascii escapes it.
    wire.write(json.dumps(frame, ensure_ascii=True) + "\n")
    wire.flush()


def on_command(frame):
    try:
        shown = COMMANDS[frame["name"]](frame.get("args") or "")
        say(type="command_response", id=frame["id"], action="display", display=shown)
    except Exception as error:
        say(type="command_response", id=frame["id"], error=f"{error}")


def on_tool(frame):
    try:
        text, failed = TOOLS[frame["name"]](frame["args"]), False
    except Exception as error:
        text, failed = f"{error}", True
    say(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}], is_error=failed)


say(type="hello", name="{{name}}", version="0.1.0", capabilities=["commands", "tools"])
say(type="register_command", name="{{command}}", description="Greet someone")
say(
    type="register_tool",
    name="{{tool}}",
    description="Counts the words in the given text.",
    schema={
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    },
)
say(type="ready")

for line in sys.stdin:
    frame = json.loads(line)
    kind = frame.get("type")
    if kind == "command_invoked":
        on_command(frame)
    elif kind == "tool_call":
        on_tool(frame)
    elif kind == "shutdown":
        say(type="shutdown_ack")
        break
