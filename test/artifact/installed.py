# SPDX-License-Identifier: Apache-2.0
"""installed.py CMAKE BUILD SOURCE: what `cmake --install` puts where, below /usr/local and below /usr: program, manual pages, and completions where each shell looks
for them; that no link of an installed document leads to what is not installed; and that the commands of the tarball's INSTALL put the same files into the same
places."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

WANTED = {"bin/heapsnap", "share/man/man1/heapsnap.1", "share/man/man1/heapsnap-attach.1", "share/bash-completion/completions/heapsnap",
          "share/fish/vendor_completions.d/heapsnap.fish", "share/doc/heapsnap/README.md", "share/doc/heapsnap/docs/README.md"}
ZSH = {"usr/local": "share/zsh/site-functions/_heapsnap", "usr": "share/zsh/vendor-completions/_heapsnap", "opt/usr-local": "share/zsh/site-functions/_heapsnap"}


def files_below(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


def broken_links(path, text, there):
    """Links of a document, and pictures that it shows, relative to it; those to the net are not looked at."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    return [f"{path} leads to {link}, which is not there" for link in links if os.path.normpath(os.path.join(os.path.dirname(path), link)) not in there]


def bad_documents(root, there):
    bad = []
    for path in sorted(there):
        if path.endswith(".md"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                bad += broken_links(path, file.read(), there)
    return bad


def installed(cmake, build, prefix):
    done = subprocess.run([cmake, "--install", build, "--prefix", prefix], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return files_below(prefix)


def by_hand(build, source, prefix):
    """What the commands of INSTALL make of a tarball's folder, with another prefix."""
    with tempfile.TemporaryDirectory(prefix="heapsnap-test-") as folder:
        for name in ("man", "completions"):
            shutil.copytree(os.path.join(build, name), os.path.join(folder, name))
        shutil.copy(os.path.join(build, "heapsnap"), folder)
        with open(os.path.join(source, "packaging/INSTALL"), encoding="utf-8") as file:
            commands = [line.strip() for line in file if line.startswith("    install ")]
        subprocess.run(["sh", "-euc", "\n".join(commands).replace("/usr/local", prefix)], cwd=folder, check=True)
    return files_below(prefix)


def main():
    cmake, build, source = sys.argv[1:]
    bad = []
    assert broken_links("docs/a.md", "![a](b.svg), [c](../c.md), [d](https://a.example/d)", {"docs/c.md", "b.svg"}) == [
        "docs/a.md leads to b.svg, which is not there", "docs/a.md leads to ../c.md, which is not there"]
    assert not broken_links("docs/a.md", "![a](b.svg), [c](../c.md#d)", {"docs/b.svg", "c.md"})
    for prefix, zsh in ZSH.items():
        with tempfile.TemporaryDirectory(prefix="heapsnap-test-") as folder:
            there = installed(cmake, build, os.path.join(folder, prefix))
            bad += [f"below {prefix}, {name} is missing" for name in sorted(WANTED - there)]
            found = {name for name in there if "/zsh/" in name}
            bad += [f"below {prefix}, zsh's completion is {found}, not {zsh}"] * (found != {zsh})
            bad += bad_documents(os.path.join(folder, prefix), there)
            if prefix == "usr/local":
                different = {name for name in there if "/doc/" not in name} ^ by_hand(build, source, os.path.join(folder, "by-hand"))
                bad += [f"INSTALL and cmake --install differ: {sorted(different)}"] * bool(different)
            print(f"{prefix}: {len(there)} files")
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()
