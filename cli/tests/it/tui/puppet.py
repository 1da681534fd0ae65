"""An extension whose commands and tools each trigger one behaviour."""

import json
import os
import sys
import threading
import time

wire, sys.stdout = sys.stdout, sys.stderr
lock = threading.Lock()


def say(**frame):
    with lock:
        wire.write(json.dumps(frame) + "\n")
        wire.flush()


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)


def command(id, name, args):
    answer = {"type": "command_response", "id": id}
    if name == "ask":
        say(**answer, action="prompt", prompt="asked by a command: " + args)
    elif name == "write":
        say(**answer, action="insert", insert=args or "written by a command")
    elif name == "show":
        say(**answer, action="display", display="shown by a command\n  " + args)
    elif name == "nothing":
        say(**answer, action="noop")
    elif name == "fail":
        say(**answer, error="no such luck: " + args)
    elif name == "panel":
        panel = {"id": "p", "title": "A panel", "lines": ["first", "second"], "footer": "keys"}
        say(**answer, action="open_panel", open_panel=panel)
    elif name == "note":
        level, _, message = args.partition(" ")
        say(type="notify", level=level, message=message)
        say(**answer)
    elif name == "notes":
        for number in range(int(args)):
            say(type="notify", level="info", message=f"note {number}")
        say(**answer)
    elif name == "unnote":
        say(type="clear_notes")
        say(**answer)
    elif name == "submit":
        say(type="submit", text=args)
        say(**answer)
    elif name == "hang":
        pass
    elif name == "die":
        os._exit(3)


def tool(id, name, args):
    if name == "steps":
        for step in range(1, 4):
            say(type="tool_progress", id=id, text=f"step {step} of 3")
        wait_for(args["until"])
    elif name == "wait":
        wait_for(args["until"])
    text = args.get("text", "the end")
    say(type="tool_result", id=id, content=[{"type": "text", "text": text}])


say(type="hello", name="puppet", version="1.2.3", capabilities=["commands", "tools", "panels"])
for name in "ask write show nothing fail panel note notes unnote submit hang die".split():
    say(type="register_command", name=name, description=f"what {name} does")
schema = {"type": "object"}
for name in ["steps", "wait", "say"]:
    say(type="register_tool", name=name, description=name, schema=schema)
say(type="ready")

for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    if kind == "command_invoked":
        command(frame["id"], frame["name"], frame["args"])
    elif kind == "tool_call":
        threading.Thread(target=tool, args=(frame["id"], frame["name"], frame["args"]), daemon=True).start()
    elif kind == "panel_key":
        text = frame.get("text", "")
        say(type="panel_render", panel_id="p", lines=[f"key {frame['key']} {text}"])
    elif kind == "panel_resize":
        say(type="panel_render", panel_id="p", footer=f"{frame['width']} by {frame['height']}")
    elif kind == "panel_close":
        say(type="notify", level="info", message="the panel was closed")
    elif kind == "shutdown":
        say(type="shutdown_ack")
        break
