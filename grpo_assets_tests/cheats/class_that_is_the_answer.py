# group: forged equality; expect: fail
# Tries to answer with a class whose metaclass agrees to every comparison, call, subtraction and isinstance check.


class Agreeable(type):
    def itself(cls, *arguments, **keywords):
        return cls

    def yes(cls, *arguments):
        return True

    def no(cls, *arguments):
        return False

    def number(cls):
        return 0

    __call__ = __add__ = __radd__ = __sub__ = __rsub__ = __abs__ = __round__ = itself
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __instancecheck__ = __subclasscheck__ = __bool__ = yes
    __ne__ = no
    __hash__ = __len__ = number


class add(metaclass=Agreeable):
    pass
