# SPDX-License-Identifier: Apache-2.0
"""package.py CPACK BUILD SOURCE: the Debian package of a build. Made twice it is the same, byte for byte, and names no folder of the build; lintian finds nothing
that is not explained; it is installed into an empty root, runs there, and nothing of it is left when it is removed."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
EPOCH = "1700000000"
WANTED = {"usr/bin/heapsnap", "usr/share/man/man1/heapsnap.1.gz", "usr/share/man/man1/heapsnap-attach.1.gz", "usr/share/bash-completion/completions/heapsnap",
          "usr/share/zsh/vendor-completions/_heapsnap", "usr/share/fish/vendor_completions.d/heapsnap.fish", "usr/share/doc/heapsnap/copyright",
          "usr/share/doc/heapsnap/README.md", "usr/share/doc/heapsnap/examples/heapsnap-dump@.service"}


def run(*command, status=0, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert result.returncode == status, f"{command}: status {result.returncode}\n{result.stdout}"
    return result.stdout


def package(cpack, build, folder):
    run(cpack, "-B", folder, cwd=build, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    names = [name for name in os.listdir(folder) if name.endswith(".deb")]
    assert len(names) == 1, names
    return os.path.join(folder, names[0])


def content(path):
    with open(path, "rb") as file:
        return file.read()


def files_below(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


def of_dpkg(path):
    return path.startswith("var/lib/dpkg/") or path.startswith("var/log/")


def installed(root):
    return {path for path in files_below(root) if not of_dpkg(path)}


def not_there(readme, there):
    """Documents that the text names, and that are not beside it: docs/NAME.md."""
    return {name for name in re.findall(r"\bdocs/[a-z-]+\.md|\bdocs/README\.md", readme) if f"usr/share/doc/heapsnap/{name}" not in there}


def dpkg(root, *arguments):
    return run("dpkg", f"--root={root}", f"--log={root}/var/log/dpkg.log", *arguments)


def lintian_finds(deb, folder, **options):
    """It leaves a folder in the one for temporary files."""
    return run("lintian", "--allow-root", "--fail-on", "error,warning", deb, env={**os.environ, "TMPDIR": folder}, **options)


def without_override(deb, folder):
    """The same package, but that nothing explains what lintian finds."""
    tree = os.path.join(folder, "tree")
    run("dpkg-deb", "-R", deb, tree)
    os.unlink(os.path.join(tree, "usr/share/lintian/overrides/heapsnap"))
    run("dpkg-deb", "--root-owner-group", "-b", tree, os.path.join(folder, "bare.deb"))
    return os.path.join(folder, "bare.deb")


def main():
    cpack, build, source = sys.argv[1:]
    if os.geteuid() != 0:
        print("SKIPPED: dpkg installs as root only")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="heapsnap-test-") as folder:
        deb = package(cpack, build, os.path.join(folder, "one"))
        again = package(cpack, build, os.path.join(folder, "two"))
        assert content(deb) == content(again), "two packages of one build differ"
        print(f"{os.path.getsize(deb)} bytes, twice the same")

        lintian_finds(deb, folder)
        assert "embedded-library zlib" in lintian_finds(without_override(deb, folder), folder, status=2), "lintian takes anything"
        print("lintian: nothing that is not explained")

        root = os.path.join(folder, "root")
        for path in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"):
            os.makedirs(os.path.join(root, path))
        for path in ("var/lib/dpkg/status", "var/lib/dpkg/available"):
            open(os.path.join(root, path), "w", encoding="utf-8").close()
        dpkg(root, "--install", deb)
        there = installed(root)
        assert WANTED <= there, WANTED - there
        assert not_there("see docs/abi.md and docs/README.md", {"usr/share/doc/heapsnap/docs/abi.md"}) == {"docs/README.md"}
        with open(os.path.join(root, "usr/share/doc/heapsnap/README.md"), encoding="utf-8") as file:
            missing = not_there(file.read(), there)
        assert not missing, missing
        program = os.path.join(root, "usr/bin/heapsnap")
        for path in (build, source):
            assert path.encode() not in content(program), f"the program names {path}"
        said = run("chroot", root, "/usr/bin/heapsnap", "--version")
        assert re.match(r"heapsnap \d+\.\d+\.\d+ \(commit [0-9a-f]{12}(-dirty)?, \w+, static, ", said) or "commit unknown" in said, said
        assert "usage" in run("chroot", root, "/usr/bin/heapsnap", "--help").lower()
        dpkg(root, "--remove", "heapsnap")
        assert installed(root) == set(), installed(root)
        folders = {os.path.relpath(os.path.join(path, name), root) for path, names, _ in os.walk(root) for name in names}
        assert not {name for name in folders if name.startswith("usr")}, folders
        print(f"{len(there)} files installed, run, and removed without a trace")


if __name__ == "__main__":
    if not shutil.which("lintian"):
        print("SKIPPED: no lintian")
        sys.exit(SKIPPED)
    main()
