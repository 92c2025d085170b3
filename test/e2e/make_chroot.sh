#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make_chroot.sh SUITE FOLDER: FOLDER/SUITE, the root of a small Debian with the headers of its C library, for a compiler's --sysroot and for chroot(8).
# Made once: by debootstrap, unpacked and not configured, for nothing of it runs but programs built against it. Two at once wait for each other; one that
# is killed leaves nothing that is taken for a root. Needs root and a Debian archive (HEAPSNAP_DEBIAN_MIRROR).
# Exit status 77: the archive cannot be reached and there is no root yet.
set -euo pipefail
suite=$1 folder=$2
mirror=${HEAPSNAP_DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$folder"
exec 9>"$folder/$suite.lock"
flock 9
[ ! -e "$folder/$suite/complete" ] || exit 0
rm -rf "${folder:?}/$suite" "$folder/$suite".new.*

if ! python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=30).read(1)' "$mirror/dists/$suite/InRelease" 2>/dev/null; then
	echo "the archive $mirror cannot be reached, or has no $suite"
	exit 77
fi
new=$(mktemp -d "$folder/$suite.new.XXXXXX")
trap 'rm -rf "$new"' EXIT
trap 'exit 143' TERM INT HUP
chmod 755 "$new"
export DEBIAN_FRONTEND=noninteractive
debootstrap --foreign --variant=minbase --include=libc6-dev,linux-libc-dev "$suite" "$new" "$mirror" >"$folder/$suite.log" 2>&1 9>&- ||
	{ tail -20 "$folder/$suite.log"; exit 1; }
# Without --foreign it would unpack these when the root is configured.
for package in "$new"/var/cache/apt/archives/{libc6-dev,linux-libc-dev,libcrypt-dev}_*.deb; do
	[ ! -e "$package" ] || dpkg-deb --fsys-tarfile "$package" | tar -x -C "$new" --keep-directory-symlink
done
# A linker on the outside would follow these out of the root.
find "$new"/usr/lib* "$new"/lib* -type l -lname '/*' | while read -r link; do
	ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$new$(readlink "$link")")" "$link"
done
rm -rf "$new"/var/cache/apt "$new"/var/lib/apt "$new"/var/lib/dpkg "$new"/debootstrap "$new"/usr/share/{doc,man,locale,i18n,info,zoneinfo}
touch "$new/complete"
mv -T "$new" "$folder/$suite"
