"""Python's Jinja2, as chat templates are rendered with it."""

import datetime
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tokenizer"))
import packages  # noqa: E402

# The time that templates are told.
NOW = 1740832496


class Raised(Exception):
    """By raise_exception()."""


def environment(lists_may_grow=False):
    """Jinja as Transformers sets it up; some templates append to lists, which that forbids."""
    try:
        import jinja2
        import jinja2.ext
        import jinja2.sandbox
    except ImportError:
        raise packages.Unavailable("Jinja2 is not installed") from None

    class Generation(jinja2.ext.Extension):
        """The text of an assistant is what a macro renders."""

        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("rendered"), [], [], body).set_lineno(line)

        @jinja2.pass_eval_context
        def rendered(self, _, caller):
            return caller()

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise Raised(message)

    def strftime_now(format):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None).strftime(format)

    sandbox = jinja2.sandbox.SandboxedEnvironment if lists_may_grow else jinja2.sandbox.ImmutableSandboxedEnvironment
    made = sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = strftime_now
    return made
