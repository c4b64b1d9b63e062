#!/bin/sh
# Sees to what pip cannot install: system.sh PYTHON [node] [compiler] [prometheus] [chromium]. Quick and silent when
# everything is there.
#
# As root on Debian and its relatives it installs what is missing with apt-get. Elsewhere it names all of it at once and
# fails. Always needed: a Python that makes virtual environments, and libnuma, which vLLM's CPU build is linked with.
#   node      the test of the contract with a Node.js client
#   compiler  torch's compiler writes C++ (the compiled configurations of the benchmark); suffix decoding comes as source
#   prometheus  the test of the dashboard. Debian's package would start a server, now and at every boot: only its two
#             programs are taken, into .venv/debian, for which no root is needed where apt-get knows its packages
#   chromium  the test of the page of `redraft eval report`, and the driver for it
set -eu

PYTHON=$1
shift
NEEDS="python libnuma $*"
DEBIAN=.venv/debian

has() {
	case $1 in
	python) "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ;;
	libnuma) "$PYTHON" -c 'import ctypes; ctypes.CDLL("libnuma.so.1")' 2>/dev/null ;;
	node) command -v node >/dev/null && command -v npm >/dev/null ;;
	chromium) command -v chromium >/dev/null && command -v chromedriver >/dev/null ;;
	prometheus) (PATH="$DEBIAN/usr/bin:$PATH" && command -v prometheus >/dev/null && command -v promtool >/dev/null) ;;
	compiler) command -v g++ >/dev/null && "$PYTHON" -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' ;;
	esac
}

package() {
	case $1 in
	python) echo python3 python3-venv ;;
	libnuma) echo libnuma1 ;;
	node) echo nodejs npm ;;
	compiler) echo g++ python3-dev ;;
	prometheus) echo prometheus ;;
	chromium) echo chromium chromium-driver ;;
	esac
}

missing() {
	for need in $NEEDS; do
		has "$need" || package "$need"
	done
}

# Takes the programs out of a package without installing it.
unpack() {
	mkdir -p "$DEBIAN" && (
		cd "$DEBIAN" && rm -f -- "$1"_*.deb
		apt-get download -qq "$1" >/dev/null 2>&1 && dpkg-deb -x "$1"_*.deb . && rm -- "$1"_*.deb
	)
}

packages=$(echo $(missing))
[ -n "$packages" ] || exit 0
if command -v apt-get >/dev/null; then
	echo "Installing $packages ..."
	root=false
	if [ "$(id -u)" = 0 ]; then
		root=true
		apt-get update -qq
	fi
	install=
	for package in $packages; do
		case $package in
		prometheus) unpack "$package" || echo "$package could not be downloaded" >&2 ;;
		*) install="$install $package" ;;
		esac
	done
	if $root && [ -n "$install" ]; then
		# shellcheck disable=SC2086
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $install >/dev/null
	fi
	packages=$(echo $(missing))
	[ -n "$packages" ] || exit 0
fi
cat >&2 <<END
Something that redraft needs is missing. These are Debian's names for it; elsewhere they may be called otherwise:
    $packages
Install it and try again. A Python from elsewhere ($PYTHON) must bring its own venv module and headers.
END
exit 1
