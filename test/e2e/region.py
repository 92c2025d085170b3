# SPDX-License-Identifier: Apache-2.0
"""The region of an attached process, for tests that read it or write lies into it."""

import os

from harness import check_equal, mappings


class Region:
    def __init__(self, pid):
        self.start = next(mapping.start for mapping in mappings(pid) if mapping.is_region())
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)

    def get(self, offset, size):
        return os.pread(self.memory, size, self.start + offset)

    def put(self, offset, data):
        check_equal(os.pwrite(self.memory, data, self.start + offset), len(data), "bytes written")

    def close(self):
        os.close(self.memory)
