# group: serialised results; expect: fail
# Tries to answer before it is asked, and twice: heads, values and whole verdicts go out while the program is loaded.
import os
import stat


def frame(text):
    return len(text).to_bytes(4, "big") + text


def volley(first, last):
    parts = [b'["list",0,"loaded"]']
    for number in range(first, last):
        parts += [b'["list",%d,"value"]' % number, b"3" if number == 1 else b'["opaque",true]']
    parts += [b'[1,["value",3]]', b'{"outcome":"pass","reason":"all_tests","passed":[true,true,true,true,true,true]}']
    return b"".join(map(frame, parts))


def tell(message):
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, message)
        except OSError:
            pass


tell(volley(1, 9))
calls = []


def add(a, b):
    calls.append((a, b))
    tell(volley(len(calls), len(calls) + 2))
    return None
