#!/bin/sh
# gather.sh ROOT PROGRAM... copies programs, their libraries and licences into ROOT, and lists the
# packages of these files.
set -eu

root=$1
shift
list=$root/usr/share/sbom/system-packages.txt
mkdir -p "$root/usr/share/sbom"

# copy FILE: copies the file, following links, with the licence of its package.
copy() {
  [ -e "$root$1" ] || cp -L --parents "$1" "$root/"
  command -v dpkg-query >/dev/null || return 0
  # dpkg lists a file under its real path or, if /lib is a link, under the path through the link.
  owner=$(dpkg-query -S "$(readlink -f "$1")" 2>/dev/null || dpkg-query -S "$1" 2>/dev/null) || return 0
  package=$(printf '%s\n' "${owner%%: /*}" | head -n 1)
  package=${package%%,*}
  dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' "$package" >>"$list"
  licence=/usr/share/doc/${package%%:*}/copyright
  if [ -f "$licence" ]; then cp -L --parents "$licence" "$root/"; fi
}

for program in "$@"; do
  path=$(command -v "$program")
  # Shell builtins have only a name.
  case $path in /*) ;; *) path=/usr/bin/$program ;; esac
  copy "$path"
  # ldd exits with 1 for a script, and with a higher code if ldd itself fails.
  loaded=$(ldd "$path" 2>/dev/null) || [ "$?" = 1 ]
  for library in $(printf '%s\n' "$loaded" |
    sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'); do
    copy "$library"
  done
done
if [ -f "$list" ]; then sort -u -o "$list" "$list"; fi
