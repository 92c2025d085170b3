# SPDX-License-Identifier: Apache-2.0
"""installed.py CMAKE BUILD: what `cmake --install` puts where, below /usr/local and below /usr: program, manual pages, and completions where each shell looks
for them."""

import os
import subprocess
import sys
import tempfile

WANTED = {"bin/heapsnap", "share/man/man1/heapsnap.1", "share/man/man1/heapsnap-attach.1", "share/bash-completion/completions/heapsnap",
          "share/fish/vendor_completions.d/heapsnap.fish", "share/doc/heapsnap/README.md", "share/doc/heapsnap/docs/README.md"}
ZSH = {"usr/local": "share/zsh/site-functions/_heapsnap", "usr": "share/zsh/vendor-completions/_heapsnap", "opt/usr-local": "share/zsh/site-functions/_heapsnap"}


def files_below(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


def installed(cmake, build, prefix):
    done = subprocess.run([cmake, "--install", build, "--prefix", prefix], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return files_below(prefix)


def main():
    cmake, build = sys.argv[1:]
    bad = []
    for prefix, zsh in ZSH.items():
        with tempfile.TemporaryDirectory(prefix="heapsnap-test-") as folder:
            there = installed(cmake, build, os.path.join(folder, prefix))
            bad += [f"below {prefix}, {name} is missing" for name in sorted(WANTED - there)]
            found = {name for name in there if "/zsh/" in name}
            bad += [f"below {prefix}, zsh's completion is {found}, not {zsh}"] * (found != {zsh})
            print(f"{prefix}: {len(there)} files")
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()
