"""Runs a command in a new terminal: terminal.py COLUMNS ANSWERS COMMAND...

ANSWERS is a comma-separated list of texts to type. Each is typed the next time "[y/N]" appears or, with the prefix
"TEXT=", the next time TEXT appears. "^C" presses Ctrl-C. Prints the terminal output and exits with the command's exit code.
"""

import fcntl
import os
import pty
import struct
import sys
import termios

columns, answers, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
answers = answers.split(",") if answers else []
child, terminal = pty.fork()
if child == 0:
    # Set the size before the command draws anything.
    size = struct.pack("HHHH", 24, columns, 0, 0)
    fcntl.ioctl(0, termios.TIOCSWINSZ, size)
    os.execvp(command[0], command)
screen, seen = b"", 0
while True:
    try:
        read = os.read(terminal, 65536)
    except OSError:
        break
    if not read:
        break
    screen += read
    while answers:
        words, _, answer = answers[0].rpartition("=")
        words = words.encode() or b"[y/N]"
        at = screen.find(words, seen)
        if at < 0:
            break
        seen = at + len(words)
        del answers[0]
        os.write(terminal, b"\x03" if answer == "^C" else answer.encode() + b"\n")
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(screen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
