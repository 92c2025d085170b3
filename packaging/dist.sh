#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dist.sh FOLDER: what is released of the commit that this checkout stands at, into FOLDER: a tarball with the program without shared libraries, a Debian
# package of the same program, and their checksums. Two runs for one commit, wherever they are made, give the same bytes if the compiler and the libraries are
# the same. ./dev dist installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
commit=$(git rev-parse HEAD 2>/dev/null) || { echo "dist.sh: what is released is made of a commit: run it in a clone of the repository" >&2; exit 1; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "dist.sh: the checkout has changes that are not committed" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/source"
git archive "$commit" | tar -x -C "$work/source"
printf '%.12s\n' "$commit" >"$work/source/COMMIT"
packaging/fetch_zydis.sh "$work/zydis"

# No path of this machine, and nothing of its environment, is in the program.
flags="-ffile-prefix-map=$work/source=. -ffile-prefix-map=$work/zydis=zydis -ffile-prefix-map=$work/build=build"
env -u CFLAGS -u CPPFLAGS -u LDFLAGS cmake -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEAPSNAP_TESTS=OFF -DHEAPSNAP_PAGE=ON \
	-DHEAPSNAP_ZYDIS_SOURCE="$work/zydis" -DCMAKE_C_FLAGS="$flags" -DCMAKE_INSTALL_PREFIX=/usr >"$work/log" 2>&1 &&
	cmake --build "$work/build" -j"$(nproc)" >>"$work/log" 2>&1 || { tail -30 "$work/log" >&2; exit 1; }
version=$("$work/build/static/heapsnap" --version | cut -d ' ' -f 2)
architecture=$(uname -m)
strip --strip-all "$work/build/static/heapsnap"

# Licences of what is linked in; the versions are a part of how the program was built.
licences=$work/licences
mkdir "$licences"
for package in libc6-dev libdw-dev libelf-dev zlib1g-dev liblzma-dev libbz2-dev libprotobuf-c-dev libiberty-dev libncurses-dev libzycore-dev; do
	cp "/usr/share/doc/$package/copyright" "$licences/$package"
done
cp "$work/zydis/LICENSE" "$licences/zydis"
cp "$work/build/proto/page/licences.txt" "$licences/page"
{
	echo "Linked into this program, as Debian has it; Zydis was built from the sources of its Debian package."
	dpkg-query -W -f '${Package} ${Version}\n' libc6-dev libdw-dev libelf-dev zlib1g-dev liblzma-dev libbz2-dev libprotobuf-c-dev libiberty-dev libncurses-dev libzycore-dev libzydis-dev gcc
} >"$licences/VERSIONS"

name=heapsnap-$version-$architecture
tree=$work/$name
mkdir -p "$tree"/{man,completions,examples}
install -m 755 "$work/build/static/heapsnap" "$tree/heapsnap"
install -m 644 "$work"/build/man/*.1 "$tree/man/"
install -m 644 "$work"/build/completions/* "$tree/completions/"
install -m 644 "$work"/source/packaging/examples/* "$tree/examples/"
install -m 644 "$work"/source/{README,CHANGELOG,CONTRIBUTING,SECURITY}.md "$work/source/LICENSE" "$work/source/packaging/INSTALL" "$tree/"
mkdir "$tree/docs"
install -m 644 "$work"/source/docs/*.{md,svg,png} "$tree/docs/"
cp -r "$licences" "$tree/licences"
(cd "$tree" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
mkdir -p "$out"
rm -f "$out"/heapsnap-*.tar.xz "$out"/heapsnap_*.deb "$out/SHA256SUMS" # of an earlier run; nothing else
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -c "$name" | xz -9e -T1 >"$out/$name.tar.xz"

(cd "$work/build" && HEAPSNAP_LICENCES=$licences cpack -B "$work/deb" && cp "$work"/deb/*.deb "$out") >>"$work/log" 2>&1 || { tail -30 "$work/log" >&2; exit 1; }
(cd "$out" && sha256sum -- *.tar.xz *.deb >SHA256SUMS)
echo "commit $commit"
(cd "$out" && stat -c '%n: %s bytes' -- *.tar.xz *.deb SHA256SUMS)
