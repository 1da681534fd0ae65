"""An extension that tries to fill the host's memory. Its first argument selects the attack."""
import json, sys, time

wire, sys.stdout = sys.stdout.buffer, sys.stderr
HOW = sys.argv[1]
NAME = sys.argv[2]
FRAME = 4 * 1024 * 1024
# `FRAME_VALUES`, minus the values of the enclosing frame.
VALUES = int(sys.argv[3]) - 50
ROUNDS = 2


def write(data):
    wire.write(data + b"\n")
    wire.flush()


def say(**frame):
    write(json.dumps(frame).encode())


def fill(start, unit, end, room=FRAME):
    """Returns a list with as many items as fit into a frame."""
    count = (room - len(start) - len(end)) // (len(unit) + 1)
    return start + b",".join([unit] * count) + end


# Values that take the most memory per byte once parsed.
TINY = [b"[]", b"1", b'{"a":1}', b"[" * 90 + b"]" * 90]


def many(start, end=b"}"):
    for unit in TINY:
        write(fill(start + b"[", unit, b"]" + end))


def costly():
    """Returns as many values as a frame may have, in the form that takes the most memory.

    An object counts as 8 values, a key as 1.
    """
    deep = b'{"a":' * 90 + b"{}" + b"}" * 90
    return b"[" + b",".join([deep] * (VALUES // (91 * 8 + 90))) + b"]"


def done():
    say(type="notify", level="info", message="done")


def setup():
    say(type="hello", name=NAME, capabilities=["call_tool"])
    if HOW in ("modified_args", "costly_args"):
        say(type="subscribe", events=[], intercept=["tool_call"])
    if HOW == "unread":
        say(type="subscribe", events=["tool_call", "tool_result"])
    if HOW in ("structured_content", "content", "costly_result"):
        say(type="register_tool", name="boom_" + NAME, schema={})
    if HOW == "costly_calls":
        say(type="register_tool", name="hold_" + NAME, schema={})
    say(type="ready")


HELD = []


def costly_call(id):
    deep = b'{"a":' * 90 + b"{}" + b"}" * 90
    args = b'{"x":[' + b",".join([deep] * 5) + b"]}"
    write(('{"type":"call_tool","id":"%s","name":"hold_%s","args":' % (id, NAME)).encode() + args + b"}")


def hold(id):
    """Answers the calls once all sixteen have arrived."""
    HELD.append(id)
    if len(HELD) == 16:
        for id in HELD:
            say(type="tool_result", id=id, content=[])
        done()


def attack():
    if HOW == "unknown":
        for _ in range(ROUNDS):
            many(b'{"type":"tea_time","x":')
            many(b'{"x":', b',"type":"tea_time"}')
    elif HOW == "extra_field":
        for _ in range(ROUNDS):
            many(b'{"type":"notify","level":"info","message":"x","x":')
            write(b'{"type":"notify","level":"info","message":"x","x":' + costly() + b"}")
    elif HOW == "notes":
        for _ in range(40):
            say(type="notify", level="info", message="x" * (FRAME - 100))
    elif HOW == "panels":
        for n in range(40):
            lines = ["x" * 100] * 9000
            say(type="open_panel", panel={"id": str(n), "title": "x" * 3_000_000, "lines": lines})
    elif HOW == "schema":
        for _ in range(ROUNDS):
            many(b'{"type":"register_tool","name":"t","schema":{"default":', b"}}")
        for n in range(600):
            write(b'{"type":"register_tool","name":"t%d","schema":{"default":' % n + b'{"a":' * 40 + b"{}" + b"}" * 40 + b',"enum":' + b"[" + b",".join(b"%d" % i for i in range(100)) + b"]}}")
    elif HOW == "unfinished":
        wire.write(b'{"type":"notify","level":"info","message":"' + b"x" * (FRAME - 1000))
        wire.flush()
        open("wrote", "w").close()
        return
    elif HOW in ("reads", "unread"):
        calls()
        if HOW == "unread":
            open("wrote", "w").close()
            return
    elif HOW == "costly_calls":
        for n in range(16):
            costly_call("c%d" % n)
        return
    done()


def calls():
    """Sends sixteen concurrent calls, several times."""
    for round in range(ROUNDS):
        for n in range(16):
            say(type="call_tool", id="%d-%d" % (round, n), name="read", args={"path": "image.png"})
        if HOW == "unread":
            continue
        for n in range(16):
            for line in sys.stdin:
                if json.loads(line)["type"] == "tool_result":
                    break


setup()
for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    if kind == "hello_ack":
        attack()
        if HOW == "unread":
            time.sleep(600)
    elif kind == "event_intercept":
        head = b'{"type":"event_intercept_response","id":"' + frame["id"].encode() + b'","modified_args":{"path":"x","x":'
        if "n" not in frame["tool_args"]:
            # This call is not part of the attack, so leave its arguments unchanged.
            say(type="event_intercept_response", id=frame["id"])
        elif HOW == "costly_args":
            write(head + costly() + b"}}")
        else:
            write(fill(head + b"[", TINY[frame["tool_args"]["n"] % 4], b"]}}"))
    elif kind == "tool_call" and HOW == "costly_calls":
        hold(frame["id"])
    elif kind == "tool_result" and HOW == "costly_calls" and len(HELD) < 16:
        # The host has not registered our tool yet, so retry.
        time.sleep(0.01)
        costly_call(frame["id"] + "x")
    elif kind == "tool_call":
        head = b'{"type":"tool_result","id":"' + frame["id"].encode() + b'","content":['
        unit = TINY[frame["args"]["n"] % 4]
        if HOW == "structured_content":
            write(fill(head + b'],"structured_content":[', unit, b"]}"))
        elif HOW == "costly_result":
            write(head + b'],"structured_content":' + costly() + b"}")
        else:
            write(fill(head, b'{"type":"text","text":""}', b"]}"))
    elif kind == "shutdown":
        say(type="shutdown_ack")
        break
