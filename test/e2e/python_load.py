# SPDX-License-Identifier: Apache-2.0
"""The Python target of real_programs.py: threads that work on JSON when told "work N", and print checksums of all that they made."""

import hashlib
import json
import queue
import sys
import threading

THREADS = 4


def checksum(seed, rounds):
    digest = hashlib.sha256()
    for number in range(rounds):
        document = {f"key {seed} {i}": {"numbers": list(range(i % 40)), "text": "x" * ((seed * 37 + i * number) % 900), "deep": [[{"i": i}]]}
                    for i in range(60)}
        text = json.dumps(document, sort_keys=True)
        if json.loads(text) != document:
            raise ValueError("a document did not come back")
        digest.update(text.encode())
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
