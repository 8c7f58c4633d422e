# group: crash; expect: fail
# Tries to kill the interpreter by a segmentation fault without ctypes: bytecode loads a constant far outside its table.
import dis


def add(a, b):
    return None


op = dis.opmap
far = [op["EXTENDED_ARG"], 0x7F, op["EXTENDED_ARG"], 0xFF, op["EXTENDED_ARG"], 0xFF]
add.__code__ = add.__code__.replace(co_code=bytes([op["RESUME"], 0, *far, op["LOAD_CONST"], 0, op["RETURN_VALUE"], 0]))
