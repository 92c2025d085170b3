#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# debian_files.sh TREE VERSION: completes the tree of a Debian package (debian_files.cmake). HEAPSNAP_LICENCES: a folder of licence texts of what is linked in.
set -euo pipefail
tree=$1 version=$2
here=$(dirname "$0")
date=@${SOURCE_DATE_EPOCH:-$(date +%s)}
documents=$tree/usr/share/doc/heapsnap
mkdir -p "$documents" "$tree/usr/share/lintian/overrides"
gzip -9n "$tree"/usr/share/man/man1/*.1
{
	printf 'heapsnap (%s) unstable; urgency=medium\n\n  * What changed stands in CHANGELOG.md of the sources.\n\n' "$version"
	printf ' -- heapsnap developers <developers@heapsnap.invalid>  %s\n' "$(date -uR -d "$date")"
} | gzip -9n >"$documents/changelog.gz"
{
	printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: heapsnap\n\nFiles: *\nCopyright: 2026 the developers of heapsnap\n'
	printf 'License: Apache-2.0\n On Debian systems the text of the Apache License, version 2.0, is in\n /usr/share/common-licenses/Apache-2.0.\n'
	if [ -n "${HEAPSNAP_LICENCES:-}" ]; then
		printf '\nComment:\n The program is linked statically with libraries of others. Their notices, and which\n versions they are, stand in /usr/share/doc/heapsnap/licences.\n'
	fi
} >"$documents/copyright"
if [ -n "${HEAPSNAP_LICENCES:-}" ]; then
	cp -r "$HEAPSNAP_LICENCES" "$documents/licences"
fi
install -m 644 "$here/lintian-overrides" "$tree/usr/share/lintian/overrides/heapsnap"
chmod -R u+rwX,go+rX,go-w "$tree"
find "$tree" -depth -exec touch --no-dereference -d "$date" {} +
