# group: patched world; expect: fail
# Tries to make whoever writes the reply write "pass" instead: json, struct, os and the worker's modules are replaced.
import importlib.machinery
import json
import os
import struct
import sys
import types

HEAD = '["list",1,"value"]'


class Agreeing(types.ModuleType):
    def __getattr__(self, name):
        return lambda *arguments, **keywords: True


class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return Agreeing(spec.name)

    def exec_module(self, module):
        pass


def head(*arguments, **keywords):
    return HEAD.encode()


def value(*arguments, **keywords):
    return b"3"


FORGED = {"encode": head, "encode_result": value, "_packed": value, "judge": head, "grade": head, "score": head}


def poison():
    for module in list(sys.modules.values()):
        for name, forged in FORGED.items():
            if isinstance(module, types.ModuleType) and callable(vars(module).get(name)):
                setattr(module, name, forged)
    json.dumps = lambda *arguments, **keywords: HEAD
    json.JSONEncoder.encode = lambda self, value: HEAD
    json.loads = lambda *arguments, **keywords: {"outcome": "pass", "passed": [True] * 6}
    struct.pack = lambda *arguments: len(HEAD).to_bytes(4, "big")
    os.fsync = os.getppid = lambda *arguments: 0
    sys.meta_path.insert(0, Finder())
    for name in ("json", "struct", "unittest", "pytest", "math", "decimal"):
        sys.modules[name] = Agreeing(name)


def add(a, b):
    poison()
    return "any"
