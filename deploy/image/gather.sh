#!/bin/sh
# gather.sh ROOT PROGRAM... copies programs, the libraries that they load and their licences into ROOT,
# and lists the packages that they are from.
set -eu

root=$1
shift
list=$root/usr/share/sbom/system-packages.txt
mkdir -p "$root/usr/share/sbom"

# copy FILE: as it stands there, links followed; with the licence of its package.
copy() {
  [ -e "$root$1" ] || cp -L --parents "$1" "$root/"
  command -v dpkg-query >/dev/null || return 0
  # A file is listed under its real place or, where /lib is a link, under its old one.
  owner=$(dpkg-query -S "$(readlink -f "$1")" 2>/dev/null || dpkg-query -S "$1" 2>/dev/null) || return 0
  package=$(printf '%s\n' "${owner%%: /*}" | head -n 1)
  package=${package%%,*}
  dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' "$package" >>"$list"
  licence=/usr/share/doc/${package%%:*}/copyright
  if [ -f "$licence" ]; then cp -L --parents "$licence" "$root/"; fi
}

for program in "$@"; do
  path=$(command -v "$program")
  # What the shell has built in is given by its name alone.
  case $path in /*) ;; *) path=/usr/bin/$program ;; esac
  copy "$path"
  # It ends with 1 for a script, and with more where it cannot be run itself.
  loaded=$(ldd "$path" 2>/dev/null) || [ "$?" = 1 ]
  for library in $(printf '%s\n' "$loaded" |
    sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'); do
    copy "$library"
  done
done
if [ -f "$list" ]; then sort -u -o "$list" "$list"; fi
