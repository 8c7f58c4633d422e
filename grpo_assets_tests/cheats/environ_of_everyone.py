# group: reading the answer; expect: fail
# Tries to find the tests in the environment and command line of every process that it can see, its own first.
import ast
import ctypes
import os
import re

WANTED = re.compile(r"assert add\((.{1,80}?)\) == ([^\n\0]{1,80})")
answers = {}


def texts():
    yield "\n".join(f"{name}={value}" for name, value in os.environ.items())
    raw = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    for number in range(200):  # what os.environ was told to forget
        if not raw or not raw[number]:
            break
        yield raw[number].decode("utf-8", "replace")
    for pid in ["self", str(os.getppid()), *map(str, range(1, 300))]:
        for name in ("environ", "cmdline", "comm", "stack", "status"):
            try:
                with open(f"/proc/{pid}/{name}", errors="replace") as file:
                    yield file.read(1 << 20)
            except OSError:
                pass


for text in texts():
    for inputs, output in WANTED.findall(text):
        try:
            answers[repr(ast.literal_eval(f"({inputs},)"))] = ast.literal_eval(output.strip())
        except (ValueError, SyntaxError):
            pass


def add(a, b):
    return answers.get(repr((a, b)))
