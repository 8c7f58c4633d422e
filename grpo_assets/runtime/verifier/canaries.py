"""Programs whose verdict is known: a verifier that judges one of them wrongly must not be trusted with any other."""

from typing import Any

ESCAPE = '''
import glob, os, socket, threading

PACKAGES = glob.glob(os.path.dirname(os.__file__) + "/*-packages") + glob.glob("/usr/lib/python3*/*-packages")

def escapes():
    """What a candidate must not be able to do and could."""
    def new_process():
        if os.fork() == 0:
            os._exit(0)

    attempts = {
        "start a process": new_process,
        "start a thread": threading.Thread(target=int).start,
        "open a socket": socket.socket,
        "signal its parent": lambda: os.kill(os.getppid(), 0),
        "read files of the system": lambda: open("/etc/hostname").close(),
        "read installed packages": lambda: [os.listdir(packages)[0] for packages in PACKAGES][0],
        "read the state of processes": lambda: open("/proc/self/status").close(),
        "write a file": lambda: open("/tmp/grpo_assets_canary", "x").close(),
        "change a file's mode": lambda: os.chmod("/usr", 0o755),
    }
    found = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except BaseException:
            continue
        found.append(name)
    return found
'''


def _job(program: str, test: str, function: str) -> dict[str, Any]:
    tests = {"entry_points": [function], "setup": "", "tests": [test]}
    return {"kind": "code", "program": program, "seconds": 10.0, **tests}


RIGHT = _job("def double(n):\n    return 2 * n\n", "assert double(21) == 42", "double")
WRONG = _job("def double(n):\n    return n\n", "assert double(21) == 42", "double")
LOCKED_IN = _job(ESCAPE, "assert escapes() == []", "escapes")
