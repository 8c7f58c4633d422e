# group: leave early; expect: fail
# Tries to raise SystemExit(0) while the worker writes the answer down: a datetime asks its time zone for an offset.
import datetime


class Departure(datetime.tzinfo):
    def utcoffset(self, moment):
        raise SystemExit(0)

    dst = tzname = fromutc = utcoffset


def add(a, b):
    return datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=Departure())
