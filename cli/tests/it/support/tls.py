"""Speaks TLS on a free port of loopback and passes everything on to a plain one: tls.py CERTIFICATE KEY PORT.

The free port is printed."""

import socket
import ssl
import sys
import threading

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)


def pass_on(source, target):
    try:
        while read := source.recv(65536):
            target.sendall(read)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(accepted):
    try:
        client = context.wrap_socket(accepted, server_side=True)
    except OSError:
        return
    server = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
    threading.Thread(target=pass_on, args=(server, client), daemon=True).start()
    pass_on(client, server)


while True:
    accepted, _ = listener.accept()
    threading.Thread(target=serve, args=(accepted,), daemon=True).start()
