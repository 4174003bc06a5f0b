"""What this package raises."""


class Error(Exception):
    """Why something cannot be done, in one line where that is enough.

    Of batonc and of compiled programs it has the text that they print."""
