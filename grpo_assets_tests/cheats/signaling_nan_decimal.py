# group: serialised results; expect: fail
# Tries to make the judge's own comparison raise, so that the failure looks like the judge's: decimals that signal.
import decimal
import itertools

for trap in (decimal.InvalidOperation, decimal.Overflow, decimal.FloatOperation):
    decimal.getcontext().traps[trap] = True
ANSWERS = itertools.cycle(
    [
        decimal.Decimal("sNaN"),
        decimal.Decimal("-sNaN123"),
        decimal.Decimal("1E+999999999999999999"),
        [decimal.Decimal("sNaN")],
        {decimal.Decimal("NaN"): decimal.Decimal("sNaN")},
    ]
)


def add(a, b):
    return next(ANSWERS)
