# SPDX-License-Identifier: Apache-2.0
"""The tests that a build has, without touching the logs of a run of ctest: each ctest begins those of its folder anew, also one that only lists."""

import json
import os
import subprocess
import tempfile


def listed_tests(ctest, build):
    """What `ctest --show-only=json-v1` says of each."""
    with tempfile.TemporaryDirectory(prefix="heapsnap-list-") as folder:
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(f"subdirs([==[{os.path.abspath(build)}]==])\n")
        found = subprocess.run([ctest, "--test-dir", folder, "--show-only=json-v1"], capture_output=True, check=True).stdout
    return json.loads(found)["tests"]


def log_of_run(build):
    """The file and the length of the log that a ctest is just writing in that folder; None: no ctest runs there."""
    try:
        status = os.stat(os.path.join(build, "Testing", "Temporary", "LastTest.log.tmp"))
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size


def log_is_whole(before, after):
    """What was written of it is still there."""
    return before is None or (after is not None and after[0] == before[0] and after[1] >= before[1])
