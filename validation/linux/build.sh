#!/bin/sh
# build.sh OUTDIR: builds OUTDIR/linux-tt, a User-Mode Linux kernel in virtual time, from Debian's package linux-source-6.1.
# Takes four to seven minutes on two cores; does nothing if the kernel is there. LINUX_SOURCE names another place of the source's archive.
set -e
here=$(dirname "$(readlink -f "$0")")
archive=${LINUX_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
[ -e "$1/linux-tt" ] && exit 0
fail() { echo "build.sh: $1" >&2; exit 1; }
[ -e "$archive" ] || fail "no kernel source at $archive: apt-get install linux-source-6.1"
for tool in gcc make flex bison bc xz python3; do
  command -v $tool >/dev/null || fail "$tool is missing: apt-get install gcc make flex bison bc xz-utils python3 libc6-dev"
done
mkdir -p "$1"; out=$(readlink -f "$1"); cd "$out"
# The version string is mixed into the guest's random numbers: it must be the same everywhere.
export KBUILD_BUILD_TIMESTAMP="2026-01-01" KBUILD_BUILD_VERSION=1 KBUILD_BUILD_USER=uml KBUILD_BUILD_HOST=uml
[ -d linux-source-6.1 ] || tar xf "$archive" --exclude='*/drivers/gpu/drm/amd/*.h'
cd linux-source-6.1
[ -e .uml-patched ] || { python3 "$here/patch.py"; touch .uml-patched; }
make ARCH=um allnoconfig KCONFIG_ALLCONFIG="$here/uml.fragment" >../build.log 2>&1 || fail "the configuration failed: see $out/build.log"
grep -qx CONFIG_UML_TIME_TRAVEL_SUPPORT=y .config || fail "this kernel has no time travel (CONFIG_UML_TIME_TRAVEL_SUPPORT)"
make ARCH=um -j"$(nproc)" linux >>../build.log 2>&1 || fail "the compilation failed: see $out/build.log"
strip -o "$out/linux-tt" linux
make -s kernelversion >"$out/version"
