# SPDX-License-Identifier: Apache-2.0
"""The Python program that is measured: objects, strings, dictionaries and lists. Each "work" is answered by "SECONDS CHECKSUM"."""

import json
import sys
import time
import zlib


class Node:
    def __init__(self, name, children):
        self.name, self.children, self.marks = name, children, {"depth": 0}

    def mark(self, depth):
        self.marks["depth"] = depth
        return 1 + sum(child.mark(depth + 1) for child in self.children)


def tree(depth):
    return Node(f"node at {depth}", [tree(depth - 1) for _ in range(3)] if depth else [])


def documents(count):
    digest = 0
    for number in range(count):
        document = {f"key {number} {i}": {"numbers": list(range(i % 40)), "text": "x" * (i * number % 900), "deep": [[{"i": i}]]}
                    for i in range(60)}
        text = json.dumps(document, sort_keys=True)
        if json.loads(text) != document:
            raise ValueError("a document did not come back")
        digest = zlib.crc32(text.encode(), digest)
    return digest


def words(count):
    found = {}
    for number in range(count):
        word = "".join(chr(97 + (number * step) % 26) for step in (1, 3, 7, 11))
        found.setdefault(word, []).append(str(number))
    return zlib.crc32("".join(",".join(found[word]) for word in sorted(found)).encode())


def work():
    return f"{documents(120):08x}-{words(200000):08x}-{tree(10).mark(0)}"


def main():
    print("ready", flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        checksum = work()
        print(f"{time.perf_counter() - started:.6f} {checksum}", flush=True)


if __name__ == "__main__":
    main()
