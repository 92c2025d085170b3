# SPDX-License-Identifier: Apache-2.0
"""json_check.py PROGRAM: what the writer of JSON writes, read by a real parser, strictly as UTF-8."""

import json
import subprocess
import sys

written = subprocess.run([sys.argv[1], "--print"], stdout=subprocess.PIPE, check=True).stdout
result = json.loads(written.decode("utf-8", "strict"))
assert list(result) == ["strings", "empty", "none", "nested", "key \"\n"], list(result)
assert result["strings"][2] == "\"quoted\\\"" and result["strings"][3] == "\n\t\r\b\x01\x1f\x7f", result["strings"]
assert r"\xff\xfe" in result["strings"] and "\U0010ffff\U000e0001" in result["strings"][8], result["strings"]
assert "\x9b31m \u202e \u2028" in result["strings"], result["strings"]
assert not any(character < " " or "\x7f" <= character <= "\x9f" or character in "\u202e\u2028" for character in written.decode()[:-1])
assert result["empty"] == {} and result["none"] == []
assert result["nested"] == [{"n": n, "l": [n, 2**64 - 1], "b": n == 1} for n in range(3)]
assert written.endswith(b"}\n") and written.count(b"\n") == 1
