"""Tests of llama.cpp's server that do not pass, and why."""

# Files whose tests are not asked.
OTHER_WORK = {}
# By the beginning of "file::test[parameters]".
FAILING = {}


def reason_of(name):
    """Why a test does not pass, or None."""
    return next((reason for beginning, reason in FAILING.items() if name.startswith(beginning)), None)
