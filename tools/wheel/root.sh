#!/bin/sh
# tools/wheel/root.sh FOLDER - unpacks into FOLDER what a program is linked with that shall run on older systems: glibc
# 2.31 with its headers, and static libraries, from Debian 11. SQLite is that of Debian 12, because sqlite3_serialize is
# needed. Nothing of it is run. Needs apt-get and dpkg-deb, the network the first time, and no root.
set -eu
root=$1
packages="libc6 libc6-dev linux-libc-dev libsqlite3-dev/bookworm liblz4-dev libzstd-dev libncurses-dev zlib1g-dev
          libdeflate-dev libopenblas-serial-dev"
key=/usr/share/keyrings/debian-archive-keyring.gpg

[ -e "$root/complete" ] && exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null && [ -e "$key" ] || {
    echo "make wheel: apt-get, dpkg-deb and $key are needed: the wheel is made on Debian or Ubuntu" >&2
    exit 1
}
# The mirror that this machine uses, unless it is one of another system.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' |
    sort -u | head -1)}
[ "$mirror" ] || { echo "make wheel: DEBIAN_MIRROR must name a mirror of Debian" >&2; exit 1; }
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/apt/debs"
root=$(cd "$root" && pwd)
for suite in bullseye bookworm; do
    echo "deb [signed-by=$key] $mirror $suite main"
done >"$root/apt/sources.list"
own="-qq -oDir::Etc::sourcelist=$root/apt/sources.list -oDir::Etc::sourceparts=/dev/null
     -oDir::State::lists=$root/apt/lists -oDir::State::status=/dev/null -oDir::Cache=$root/apt/cache
     -oAPT::Architecture=amd64 -oAPT::Architectures=amd64 -oAPT::Sandbox::User= -oAPT::Default-Release=bullseye"
# shellcheck disable=SC2086 # lists of words
apt-get $own update
# shellcheck disable=SC2086
(cd "$root/apt/debs" && apt-get $own download $packages)
for package in "$root"/apt/debs/*.deb; do
    dpkg-deb -x "$package" "$root"
done
# Links that begin with / would leave the root.
find "$root" -type l ! -path "$root/apt/*" | while read -r link; do
    target=$(readlink "$link")
    case $target in /*) ln -sfn "$root$target" "$link" ;; esac
done
rm -rf "$root/apt"
touch "$root/complete"
