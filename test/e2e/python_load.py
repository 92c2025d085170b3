# SPDX-License-Identifier: Apache-2.0
"""The Python target of real_programs.py: threads that work on documents when told "work N", and print checksums of all that they made."""

import bz2
import hashlib
import json
import lzma
import queue
import sqlite3
import sys
import threading
import zlib

THREADS = 4


def in_database(documents):
    """The same, out of a database in memory."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE documents (number INTEGER PRIMARY KEY, text TEXT)")
    connection.executemany("INSERT INTO documents VALUES (?, ?)", enumerate(documents))
    result = [text for text, in connection.execute("SELECT text FROM documents ORDER BY number")]
    connection.close()
    return result


def checksum(seed, rounds):
    """Documents written, compressed, kept in a database and read again: the work is in extension modules."""
    digest, texts = hashlib.sha256(), []
    for number in range(rounds):
        document = {f"key {seed} {i}": {"numbers": list(range(i % 40)), "text": "x" * ((seed * 37 + i * number) % 900), "deep": [[{"i": i}]]}
                    for i in range(60)}
        text = json.dumps(document, sort_keys=True)
        if json.loads(text) != document:
            raise ValueError("a document did not come back")
        texts.append(text)
        digest.update(text.encode())
        for module in (zlib, bz2, lzma):
            if number % 10 == 0 and module.decompress(module.compress(text.encode())) != text.encode():
                raise ValueError(f"{module.__name__} did not give back what it got")
    if in_database(texts) != texts:
        raise ValueError("the database did not give back what it got")
    return digest.hexdigest()


def main():
    tasks, answers, kept = queue.Queue(), queue.Queue(), []

    def work():
        while True:
            seed, rounds = tasks.get()
            answers.put((seed, checksum(seed, rounds)))

    for _ in range(THREADS):
        threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        rounds = int(line.split()[1])
        for seed in range(THREADS):
            tasks.put((seed, rounds))
        kept.append(["a string that stays " * 50 + str(i) for i in range(200)])
        results = sorted(answers.get() for _ in range(THREADS))
        print(" ".join(text for _, text in results), flush=True)


if __name__ == "__main__":
    main()
