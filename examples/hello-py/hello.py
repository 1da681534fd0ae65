"""A slash command and a tool, in Python without dependencies. Copy it and change the two functions."""

import json
import sys

# stdout is reserved for the protocol. Redirect a stray print() to the log.
wire, sys.stdout = sys.stdout, sys.stderr


def say(**frame):
    wire.write(json.dumps(frame) + "\n")
    wire.flush()


def greet(name):
    """The command /greet. Returns the fields of its response."""
    return {"action": "prompt", "prompt": f"Greet {name or 'me'} in one short sentence."}


def count_words(args):
    """The tool count_words. Returns the text for the model."""
    return str(len(args["text"].split()))


say(type="hello", name="hello-py", version="1.0.0", capabilities=["commands", "tools"])
say(type="register_command", name="greet", description="ask the model to greet someone")
say(
    type="register_tool",
    name="count_words",
    description="Counts the words in the given text.",
    schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    # The host validates the arguments, so count_words need not.
    strict=True,
)
say(type="ready")

for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    if kind == "command_invoked":
        try:
            say(type="command_response", id=frame["id"], **greet(frame.get("args", "")))
        except Exception as error:
            say(type="command_response", id=frame["id"], error=repr(error))
    elif kind == "tool_call":
        try:
            text, failed = count_words(frame["args"]), False
        except Exception as error:
            text, failed = repr(error), True
        content = [{"type": "text", "text": text}]
        say(type="tool_result", id=frame["id"], content=content, is_error=failed)
    elif kind == "shutdown":
        say(type="shutdown_ack")
        break
