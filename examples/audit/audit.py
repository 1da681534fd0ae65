"""Logs every event to audit.jsonl in the data directory. /audit shows the path and the last events."""

import datetime
import json
import os
import sys

wire, sys.stdout = sys.stdout, sys.stderr
EVENTS = ["session_start", "session_end", "user_message", "turn_start", "tool_call", "tool_result",
          "assistant_message", "turn_end", "compact"]
LONGEST = 2000
path = None


def say(**frame):
    wire.write(json.dumps(frame) + "\n")
    wire.flush()


def cut(value):
    """Truncates long strings."""
    if isinstance(value, str) and len(value) > LONGEST:
        return value[:LONGEST] + f"… ({len(value)} characters)"
    if isinstance(value, dict):
        return {key: cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [cut(item) for item in value]
    return value


def write(event):
    if path is None:
        return
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    entry = {"time": now, **{key: cut(value) for key, value in event.items() if key != "type"}}
    # Open the file for each line, so that it can be moved. Only its owner can read it, because it contains messages.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def show():
    if path is None:
        return "this host has no data directory for extensions"
    try:
        with open(path, encoding="utf-8") as file:
            last = [json.loads(line) for line in file.readlines()[-10:]]
    except FileNotFoundError:
        return f"no events yet in {path}"
    lines = [f"{entry['time']} {entry['event']} {entry.get('tool_name', '')}".rstrip() for entry in last]
    return "\n".join([path, *lines])


say(type="hello", name="audit", version="1.0.0", capabilities=["commands", "events"])
say(type="register_command", name="audit", description="show the last events and the path of the log")
say(type="subscribe", events=EVENTS)
say(type="ready")

for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    try:
        if kind == "hello_ack" and frame.get("data_dir"):
            path = os.path.join(frame["data_dir"], "audit.jsonl")
        elif kind == "event":
            write(frame)
        elif kind == "command_invoked":
            say(type="command_response", id=frame["id"], action="display", display=show())
    except OSError as error:
        say(type="notify", level="error", message=f"audit: {error}")
    if kind == "shutdown":
        say(type="shutdown_ack")
        break
