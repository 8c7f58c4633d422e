# group: specification; expect: fail
# Tries to look like an algorithm while it knows only the shown example, which it recognises by a checksum.
import zlib

TABLE = {zlib.crc32(b"(1, 2)"): 0b11}


def add(a, b):
    state = zlib.crc32(repr((a, b)).encode())
    return TABLE.get(state, b)
