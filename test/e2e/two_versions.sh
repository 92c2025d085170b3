#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two heapsnaps as one: $HEAPSNAP_SECOND does the commands that $HEAPSNAP_SECOND_DOES names, $HEAPSNAP_FIRST the others. So a test of one version becomes one of two.
case " $HEAPSNAP_SECOND_DOES " in
*" $1 "*) exec "$HEAPSNAP_SECOND" "$@" ;;
esac
exec "$HEAPSNAP_FIRST" "$@"
