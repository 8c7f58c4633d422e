# group: reading the answer; expect: fail
# Tries to read ahead in every inherited descriptor, hoping that the next questions travel together with their answers.
import json
import os
import stat

stolen = []


def drain(descriptor):
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        stolen.append(os.pread(descriptor, 1 << 16, 0))
    elif stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        was = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)
        try:
            stolen.append(os.read(descriptor, 1 << 16))
        finally:
            os.set_blocking(descriptor, was)


def drain_all():
    for descriptor in range(48):
        try:
            drain(descriptor)
        except OSError:
            pass
    for pid in ("self", os.getppid()):
        for number in range(32):
            try:
                descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                drain(descriptor)
            except OSError:
                pass
            finally:
                os.close(descriptor)


def add(a, b):
    drain_all()
    for message in stolen:
        try:
            question = json.loads(message[4:])
        except ValueError:
            continue
        if isinstance(question, dict):
            return question.get("expected", question.get("answer"))
    return None
