#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetch_zydis.sh FOLDER: the sources of Zydis, as Debian 12 has them, into FOLDER, for the static program: Debian has no static archive of it. What comes is
# compared with the checksum below, so that it does not matter from which mirror, or whether by TLS.
set -euo pipefail
folder=$1
VERSION=4.0.0
# Of zydis_4.0.0.orig.tar.gz, from the signed zydis_4.0.0-1.dsc.
SHA256=e990107f80c62afc1deb51de230023a1098db801b8ea6bf483e296d45459e234

if [ -f "$folder/.$SHA256" ]; then
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$work/zydis.tar.gz
found=
# The mirrors that this machine has its packages from, then Debian's own.
for mirror in $(apt-cache policy libzydis-dev 2>/dev/null | grep -oE 'https?://[^ ]+' | sort -u) http://deb.debian.org/debian; do
	if /usr/lib/apt/apt-helper download-file "$mirror/pool/main/z/zydis/zydis_$VERSION.orig.tar.gz" "$archive" "SHA256:$SHA256" >"$work/log" 2>&1; then
		found=yes
		break
	fi
done
[ -n "$found" ] || { cat "$work/log" >&2; echo "fetch_zydis.sh: no mirror has the sources of Zydis $VERSION" >&2; exit 1; }
echo "$SHA256  $archive" | sha256sum --check --quiet
rm -rf "$folder"
mkdir -p "$folder"
tar -xzf "$archive" -C "$folder" --strip-components=1 --no-same-owner
touch "$folder/.$SHA256"
