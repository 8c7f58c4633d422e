# group: reading the answer; expect: fail
# Tries to find the tests in the memory of its parent and of process 1, through /proc and through process_vm_readv.
import ast
import ctypes
import os
import re

LIMIT = 64 << 20
WANTED = re.compile(rb"assert add\((.{1,80}?)\) == ([^\n\x00]{1,80})")
answers = {}


def learn(block):
    for inputs, output in WANTED.findall(block):
        try:
            key = repr(ast.literal_eval("(" + inputs.decode() + ",)"))
            answers[key] = ast.literal_eval(output.decode().strip())
        except (ValueError, SyntaxError, UnicodeDecodeError):
            pass


def through_proc(pid):
    left = LIMIT
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if " rw" in line and end - start <= left:
                left -= end - start
                memory.seek(start)
                learn(memory.read(end - start))


def through_vm_readv(pid):
    """A forked worker lies at the same addresses as its parent, so its own objects say where to look."""
    libc = ctypes.CDLL(None)

    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    page = ctypes.create_string_buffer(1 << 16)
    here = Piece(ctypes.addressof(page), len(page))
    for anchor in (id(answers), id(os.__dict__), id(learn)):
        for step in range(-64, 64):
            there = Piece((anchor & ~0xFFFF) + step * len(page), len(page))
            if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
                learn(page.raw)


for pid in (os.getppid(), 1):
    for reader in (through_proc, through_vm_readv):
        try:
            reader(pid)
        except (OSError, ValueError, OverflowError):
            pass


def add(a, b):
    return answers.get(repr((a, b)))
