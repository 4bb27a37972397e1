"""Counts the lines of a log that match one of a list of patterns, as a script would: lines.py PATTERNS LOG"""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    patterns = [re.compile(p.rstrip("\n")) for p in f]
count = 0
with open(sys.argv[2], encoding="utf-8", errors="replace") as f:
    for line in f:
        for p in patterns:
            if p.search(line):
                count += 1
                break
print(count)
