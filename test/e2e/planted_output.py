# SPDX-License-Identifier: Apache-2.0
"""Where root's dump is written to, when somebody else owns the directory: they exchange directories and links without a pause, or plant what the file's name
leads to. Nothing may ever appear behind a link, nothing of anybody's is replaced, and a dump is there whole or refused."""

import ctypes
import os
import signal
import stat
import sys

import pprof_reader
from harness import Target, attach, check, check_equal, check_refused, detach, heapsnap, root, run_cases, say, start, stop, temporary_directory

SOMEBODY = 65534
RUNS = 25
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def flip(one, other):
    """What the other process does: exchanges two names for ever."""
    renameat2 = ctypes.CDLL(None).renameat2
    one, other = one.encode(), other.encode()
    while True:
        renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)


class Flipper:
    def __init__(self, one, other):
        self.process = start(["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", sys.executable, __file__, "flip", one, other])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check(self.process.poll() is None, "the process that exchanges names has ended")
        stop(self.process, signal.SIGKILL)


class Place:
    """theirs/ is somebody's, with a directory real/deeper and a link to behind/, which is root's and has a directory deeper too."""

    def __init__(self):
        self.top = temporary_directory()
        self.theirs, self.behind = os.path.join(self.top, "theirs"), os.path.join(self.top, "behind")
        self.real, self.link = os.path.join(self.theirs, "real"), os.path.join(self.theirs, "link")
        os.makedirs(os.path.join(self.real, "deeper"))
        os.makedirs(os.path.join(self.behind, "deeper"), 0o700)
        self.secret = os.path.join(self.behind, "out.pb.gz")
        for path in (self.secret, os.path.join(self.behind, "deeper", "out.pb.gz")):
            with open(path, "w", encoding="ascii") as file:
                file.write("root's own")
        os.symlink(self.behind, self.link)
        for path in (self.theirs, self.real, os.path.join(self.real, "deeper"), self.link):
            os.lchown(path, SOMEBODY, SOMEBODY)
        self.before = self.look()

    def look(self):
        """All that root has: names, contents, numbers of the files."""
        found = {}
        for folder, folders, files in os.walk(self.behind):
            for name in folders + files:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                found[path] = (status.st_ino, status.st_nlink, stat.filemode(status.st_mode), status.st_uid)
                if stat.S_ISREG(status.st_mode):
                    with open(path, "rb") as file:
                        found[path] += (file.read(),)
        return found

    def check_untouched(self):
        check_equal(self.look(), self.before, "what stands behind the link")


def dump_beside_flips(place, one, other, outputs, **options):
    target = Target("cycles")
    attach(target.pid)
    refused = 0
    with Flipper(one, other):
        for run in range(RUNS):
            result = heapsnap("dump", target.pid, "-o", outputs[run % len(outputs)], **options)
            if result.status:
                check("symbolic link" in result.stderr or "No such file" in result.stderr, str(result))
                refused += 1
            place.check_untouched()
    detach(target.pid)
    stop(target.process)
    say(f"  {RUNS - refused} written, {refused} refused")


def flipped_directory():
    place = Place()
    dump_beside_flips(place, place.real, place.link, [f"{place.real}/out.pb.gz", f"{place.real}/deeper/out.pb.gz"])


def flipped_from_within():
    """Relative paths."""
    place = Place()
    dump_beside_flips(place, place.real, place.link, ["real/out.pb.gz", "./real/deeper/out.pb.gz"], cwd=place.theirs)


def flipped_name():
    """The file's own name is exchanged with a link to root's file."""
    place = Place()
    link, spare = f"{place.real}/out.pb.gz", f"{place.real}/spare"
    os.symlink(place.secret, link)
    with open(spare, "w", encoding="ascii"):
        pass
    for path in (link, spare):
        os.lchown(path, SOMEBODY, SOMEBODY)
    target = Target("cycles")
    attach(target.pid)
    with Flipper(link, spare):
        for _ in range(RUNS):
            check_refused(heapsnap("dump", target.pid, "-o", link), "belongs to user 65534|symbolic link")
            place.check_untouched()
    detach(target.pid)
    stop(target.process)


def planted_names():
    place = Place()
    target = Target("cycles")
    attach(target.pid)
    output = f"{place.real}/out.pb.gz"

    def refused(*words, path=output):
        before = os.lstat(output) if os.path.lexists(output) else None
        check_refused(heapsnap("dump", target.pid, "-o", path), *words)
        after = os.lstat(output) if os.path.lexists(output) else None
        check_equal(after and (after.st_ino, after.st_size, after.st_mode, after.st_nlink),
                    before and (before.st_ino, before.st_size, before.st_mode, before.st_nlink), "what was planted")
        place.check_untouched()

    os.symlink(place.secret, output)
    refused("symbolic link in a directory that other users can change|belongs to user")  # root's own link, in their directory
    os.lchown(output, SOMEBODY, SOMEBODY)
    refused("symbolic link that belongs to user 65534")
    os.unlink(output)
    os.mkfifo(output)
    refused("not a plain file")
    os.unlink(output)
    os.link(place.secret, output)
    place.before = place.look()  # one link more
    refused("has another name too")
    os.unlink(output)
    place.before = place.look()
    with open(output, "w", encoding="ascii"):
        os.chown(output, SOMEBODY, SOMEBODY)
    refused("belongs to user 65534")
    os.unlink(output)
    refused("a link of /proc", path=f"/proc/{target.pid}/root{output}")
    refused("leads by .. out of a directory that other users can change", path=f"{place.real}/../real/out.pb.gz")
    refused("a link of /proc", path="/dev/fd/2/out.pb.gz")
    refused("not a plain file", path="/dev/../dev/stdout")
    # Nothing planted: it is written, also over a dump of before.
    for _ in range(2):
        check_equal(heapsnap("dump", target.pid, "-o", output).status, 0, "a dump into somebody's directory")
        pprof_reader.decode(output)
        check_equal((os.lstat(output).st_uid, stat.filemode(os.lstat(output).st_mode)), (0, "-rw-------"), "the file's owner and mode")
    check_equal(sorted(os.listdir(place.real)), ["deeper", "out.pb.gz"], "what stands beside the file")
    detach(target.pid)
    stop(target.process)


if sys.argv[1:2] == ["flip"]:
    flip(*sys.argv[2:])
elif root():
    run_cases([flipped_directory, flipped_from_within, flipped_name, planted_names], "planted output")
