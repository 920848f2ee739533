"""Scripts the model of each agent: requests three calls in sequence, regardless of the results.

Prints the outcome of each result: `ok`, `changed` if values are missing or different, or `error`.
"""

import re
import sys
import time

CALLS = [
    ("search_trips", {"to": "Lisbon"}, ["TR-48213", "4187.23"]),
    ("book_trip", {"trip": "TR-48213", "price": 4187.23}, ["BK-771204", "confirmed", "4187.23"]),
    ("get_booking", {"booking": "BK-771204"}, ["BK-771204", "confirmed", "4187.23"]),
]


class Script:
    asked = 0
    since = 0.0

    def next(self, result=None):
        """Reads the result of the last call; returns the tool and arguments of the next, or None."""
        if self.asked > 0:
            self.read(str(result))
        if self.asked == len(CALLS):
            return None
        tool, args, _ = CALLS[self.asked]
        self.asked += 1
        self.since = time.monotonic()
        return tool, args

    def read(self, text):
        tool, _, values = CALLS[self.asked - 1]
        waited = time.monotonic() - self.since
        found = [value in text for value in values]
        is_error = re.search("(?<!is)error|invalid|fail|unavailable", text.lower())
        # A result without text counts as a result.
        is_empty = re.search(r'^(?:[\W_]*|null)$|"text":\s*""|"(?:content|value)":\s*(?:\[\]|null)', text)
        if is_error or not (any(found) or is_empty):
            print(f"  {text[:200]!r}", file=sys.stderr)
            print(tool, "error", f"after {waited:.1f} s", flush=True)
        else:
            print(tool, "ok" if all(found) else "changed", flush=True)
