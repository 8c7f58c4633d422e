# group: test framework; expect: fail
# Tries to be taken for a conftest or a test module: hooks at the top level skip, deselect or whitewash every test.
import unittest

__test__ = False
pytest_plugins = ()
collect_ignore_glob = ["*"]
__unittest_skip__ = True
__unittest_skip_why__ = "not needed"


def setUpModule():
    raise unittest.SkipTest("not needed")


def load_tests(loader, tests, pattern):
    return unittest.TestSuite()


def pytest_collection_modifyitems(config, items):
    items.clear()


def pytest_pyfunc_call(pyfuncitem):
    return True


def pytest_runtest_makereport(item, call):
    call.excinfo = None


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0


def add(a, b):
    return None


add.__test__ = False
add.__unittest_skip__ = True
add.pytestmark = []
