"""Attempts one action and prints `ok` or the name of the error.

    python3 -c PROBE (self|child|daemon) WHAT [ARGUMENT...]

Runs in this process, in a child, or in a daemon that has left the session.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
from os import link, listdir, mkdir, rename, rmdir, symlink, unlink  # noqa: F401

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "system call")
    return result


def call(number, *arguments):
    return check(libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments)))


# Files


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def append(path):
    with open(path, "ab") as file:
        file.write(b"more")


def truncate(path):
    os.truncate(path, 0)


def open_truncate(path):
    os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))


def create(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def disk(path):
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0))


def execute(path):
    subprocess.run([path], check=True)


def watch(path):
    # IN_CREATE
    check(libc.inotify_add_watch(libc.inotify_init(), path.encode(), 0x100))


def watch_all(path):
    # FAN_REPORT_FID; FAN_MARK_ADD, FAN_CREATE
    group = check(libc.fanotify_init(0x200, os.O_RDONLY))
    check(libc.fanotify_mark(group, 1, ctypes.c_uint64(0x100), -100, path.encode()))


def set_attribute(path):
    os.setxattr(path, "user.zot", b"1")


def remove_attribute(path):
    os.removexattr(path, "user.zot")


def set_attribute_at(path):
    # `setxattrat`, with `struct xattr_args`
    value = ctypes.create_string_buffer(b"1", 1)
    arguments = ctypes.addressof(value).to_bytes(8, sys.byteorder) + bytes([1, 0, 0, 0, 0, 0, 0, 0])
    texts = [ctypes.create_string_buffer(x) for x in (path.encode(), b"user.zot", arguments)]
    path, name, arguments = (ctypes.addressof(text) for text in texts)
    call(463, -100, path, 0, name, arguments, 16)


def open_to_others(path):
    # An access control list that gives another user (65534) full access.
    entries = [(1, 7, -1), (2, 7, 65534), (4, 5, -1), (16, 7, -1), (32, 5, -1)]
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr(path, "system.posix_acl_access", value)


def set_flags(path):
    flags = ctypes.c_long()
    file = os.open(path, os.O_RDONLY)
    # FS_IOC_GETFLAGS, then FS_IOC_SETFLAGS with FS_NODUMP_FL
    fcntl.ioctl(file, 0x80086601, flags)
    flags.value ^= 0x40
    fcntl.ioctl(file, 0x40086602, flags)


def by_handle(path):
    # `struct file_handle`: its size, a type, and up to 128 bytes.
    handle = ctypes.create_string_buffer(136)
    handle[0:4] = (128).to_bytes(4, sys.byteorder)
    mount = ctypes.c_int()
    check(libc.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(mount), 0))
    root = os.open("/usr", os.O_RDONLY)
    check(libc.open_by_handle_at(root, handle, os.O_RDONLY))


# Sockets


def tcp(port):
    socket.create_connection(("127.0.0.1", int(port)), 10).close()


def tcp6(port):
    socket.create_connection(("::1", int(port)), 10).close()


def bind_tcp(port):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", int(port)))
        server.listen()


def bind_alone(port):
    with socket.socket() as server:
        server.bind(("127.0.0.1", int(port)))


def listen_unbound():
    with socket.socket() as server:
        server.listen()
        with socket.create_connection(server.getsockname(), 10):
            server.accept()


def multipath_tcp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as client:
        client.connect(("127.0.0.1", int(port)))


def fast_open(port):
    with socket.socket() as client:
        client.sendto(b"x", 0x20000000, ("127.0.0.1", int(port)))


def fast_open_message(port):
    with socket.socket() as client:
        client.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", int(port)))


def other_protocol(port):
    with socket.create_connection(("127.0.0.1", int(port)), 10) as client:
        client.setsockopt(socket.IPPROTO_TCP, 31, b"none")


def udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ("127.0.0.1", int(port)))


def unix(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + path[1:] if path.startswith("@") else path)


def unix_by_pair(path):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", path)


def pair():
    one, other = socket.socketpair()
    one.send(b"x")
    assert other.recv(1) == b"x"


def open_socket(family, kind, protocol):
    socket.socket(int(family), int(kind), int(protocol)).close()


# Other processes


def kill(pid):
    os.kill(int(pid), signal.SIGURG)


def sigqueue(pid):
    # `pidfd_open`, `pidfd_send_signal`
    call(424, call(434, int(pid), 0), signal.SIGURG, 0, 0)


def trace(pid):
    # PTRACE_SEIZE, which does not stop the process
    check(libc.ptrace(0x4206, int(pid), None, None))


def memory(pid):
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    own = ctypes.create_string_buffer(1)
    to, there = Part(ctypes.addressof(own), 1), Part(0, 1)
    check(libc.process_vm_readv(int(pid), ctypes.byref(to), 1, ctypes.byref(there), 1, 0))


def descriptor(pid):
    # `pidfd_open`, `pidfd_getfd`
    call(438, call(434, int(pid), 0), 0, 0)


def limits(pid):
    limit = resource.RLIMIT_NOFILE
    resource.prlimit(int(pid), limit, resource.prlimit(int(pid), limit))


def lower_tree_limit():
    # Call libc directly: Python's `resource` module raises ValueError instead of reporting EPERM.
    limits = (ctypes.c_ulong * 2)(1 << 40, 1 << 40)
    check(libc.setrlimit(resource.RLIMIT_RTTIME, limits))


def raise_limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    resource.getrlimit(resource.RLIMIT_RTTIME)


def death_signal(number):
    # PR_SET_PDEATHSIG
    check(libc.prctl(1, int(number), 0, 0, 0))


# The kernel


def io_uring():
    parameters = ctypes.create_string_buffer(256)
    call(425, 1, ctypes.addressof(parameters))


def keys():
    # KEYCTL_GET_KEYRING_ID of the session's keyring
    call(250, 0, -3, 1)


def shared_memory():
    # IPC_PRIVATE | IPC_CREAT; then IPC_RMID
    call(31, call(29, 0, 4096, 0o1600), 0, 0)


def x32_socket():
    call(0x40000000 | 41, socket.AF_INET, socket.SOCK_DGRAM, 0)


def i386_socket():
    code = bytes.fromhex(
        "53"  # push rbx
        "b867010000"  # mov eax, 359: socket
        "bb02000000"  # mov ebx, AF_INET
        "b902000000"  # mov ecx, SOCK_DGRAM
        "31d2"  # xor edx, edx
        "cd80"  # int 0x80
        "5b"  # pop rbx
        "c3"  # ret
    )
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if result < 0:
        raise OSError(-result, "int 0x80")


def mount_in_a_namespace(path):
    # CLONE_NEWUSER | CLONE_NEWNS
    check(libc.unshare(0x10020000))
    check(libc.mount(b"none", path.encode(), b"tmpfs", 0, None))


def main():
    way, what, *arguments = sys.argv[1:]
    if way != "self":
        # The test reads until every process has closed the output, so it also waits for a daemon.
        if os.fork():
            os.wait()
            return
        if way == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
    try:
        globals()[what](*arguments)
        print("ok")
    except subprocess.CalledProcessError as error:
        print("status", error.returncode)
    except OSError as error:
        print(errno.errorcode.get(error.errno, error))
    sys.stdout.flush()


main()
