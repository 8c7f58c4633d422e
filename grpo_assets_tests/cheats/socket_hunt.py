# group: host; expect: fail
# Tries to reach services of the host (Dagster, MLflow, Docker, the judge) by TCP, UDP, unix and abstract sockets.
import os
import socket

PORTS = (3000, 5000, 6379, 8265, 18999)
PATHS = ("/run/docker.sock", "/var/run/docker.sock", "\0grpo_judge", "\0dagster", "\0canary_grpo")


def tcp(family, host, port):
    with socket.socket(family, socket.SOCK_STREAM) as line:
        line.settimeout(0.1)
        line.connect((host, port))
        line.send(b"GET /canary_grpo HTTP/1.0\r\n\r\n")


def udp(family, host, port):
    with socket.socket(family, socket.SOCK_DGRAM) as line:
        line.sendto(b"canary_grpo", (host, port))


def unix(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(0.1)
        line.connect(path)


attempts = [
    (way, family, host, port)
    for way in (tcp, udp)
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
    for port in PORTS
]
reached = []
for way, *target in [*attempts, *((unix, path) for path in PATHS)]:
    try:
        way(*target)
        reached.append(target)
    except (OSError, UnicodeError):
        pass
for number in range(3, 32):  # a socket that was left open needs no new one
    try:
        with socket.socket(fileno=os.dup(number)) as line:
            line.send(b"canary_grpo")
            reached.append(number)
    except OSError:
        pass


def add(a, b):
    return f"reached {reached}"
