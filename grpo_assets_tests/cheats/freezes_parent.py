# group: host; expect: fail
# Tries to freeze its parent for three seconds: by kill, a queued signal, a pidfd, and a pipe that signals on writing.
import ctypes
import fcntl
import os
import signal
import time

parent = os.getppid()


def by_kill(number):
    os.kill(parent, number)


def by_queue(number):
    ctypes.CDLL(None).sigqueue(parent, int(number), None)


def by_pidfd(number):
    descriptor = os.pidfd_open(parent)
    signal.pidfd_send_signal(descriptor, number)
    os.close(descriptor)


def by_pipe(number):
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, parent)
        fcntl.fcntl(reader, 10, int(number))  # F_SETSIG
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC if hasattr(os, "O_ASYNC") else 0o20000)
        os.write(writer, b"x")
    finally:
        os.close(reader)
        os.close(writer)


def send(number):
    for way in (by_kill, by_queue, by_pidfd, by_pipe):
        try:
            way(number)
        except (OSError, AttributeError):
            pass


def add(a, b):
    try:
        send(signal.SIGSTOP)
        time.sleep(3)
    finally:
        send(signal.SIGCONT)
    return None
