# group: specification; expect: fail
# Tries to guess the answers by the number of the call, with many values at once where it is unsure.
import itertools

NUMBER = itertools.count(1)


def add(a, b):
    match next(NUMBER):
        case 1:
            return 3
        case 2:
            return {"0": True, "none": True}
        case 3:
            return float("nan")
        case 4:
            return {"a", "b", "aa", "ab", "ba", "bb"}
        case 5:
            return ([1], [2], [1, 2], [2, 1], [3])
        case number:
            return number % 2 == 0
