#!/usr/bin/env python3
"""Drives `zot rpc` from Python: sends a prompt and prints the text as it streams. Needs only Python.

    ./client.py "what does this project do?" [FLAGS...]

Ctrl-C aborts the turn. If a command fails, the exit code is 1.
"""

import json
import os
import signal
import subprocess
import sys


class Zot:
    """A running `zot rpc`."""

    def __init__(self, flags):
        program = os.environ.get("ZOT", "zot")
        self.process = subprocess.Popen(
            [program, "rpc", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Run zot in its own session, so that Ctrl-C reaches only us and we can send `abort`.
            start_new_session=True,
        )

    def send(self, command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def lines(self):
        for line in self.process.stdout:
            yield json.loads(line)

    def close(self):
        self.process.stdin.close()
        # Keep reading: zot cannot exit while it waits for us to read its output.
        self.process.stdout.read()
        return self.process.wait()


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} MESSAGE [FLAGS...]")
    zot = Zot(sys.argv[2:])
    signal.signal(signal.SIGINT, lambda *_: zot.send({"type": "abort"}))
    zot.send({"id": "1", "type": "prompt", "message": sys.argv[1]})
    failed = False
    for line in zot.lines():
        match line["type"]:
            case "text_delta":
                print(line.get("delta", ""), end="", flush=True)
            case "response" if not line["success"]:
                print(f"error: {line['error']}", file=sys.stderr)
                failed = True
                break
            case "error":
                print(f"error: {line['message']}", file=sys.stderr)
                failed = True
            case "done":
                break
    print()
    return 1 if zot.close() or failed else 0


if __name__ == "__main__":
    sys.exit(main())
