"""A TLS proxy for a plain server on loopback: tls.py CERTIFICATE KEY PORT.

Prints the port it listens on.
"""

import socket
import ssl
import sys
import threading

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)


def forward(source, target):
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
    threading.Thread(target=forward, args=(server, client), daemon=True).start()
    forward(client, server)


while True:
    accepted, _ = listener.accept()
    threading.Thread(target=serve, args=(accepted,), daemon=True).start()
