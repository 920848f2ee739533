#!/bin/sh
# build-offline.sh [IMAGE]: builds IMAGE and IMAGE-sidecar without an image registry, as root, on Linux.
# The base image contains programs of this machine: Node 24 (NODE24, or `node` on PATH), npm, nft, a
# shell and the other programs that the Dockerfile runs. Packages come from npm's cache if possible.
# STORAGE sets the directory for images; the default is buildah's own.
set -eu

cd "$(dirname "$0")/../.."
image=${1:-localhost/squall:local}
base=localhost/squall-build-base:2
node=$(readlink -f "${NODE24:-$(command -v node)}")
tools='sh cat chmod chown cp env find head ldd ln mkdir printf readlink rm sed sort bash uname'

set -- --storage-driver vfs
[ -z "${STORAGE:-}" ] || set -- "$@" --root "$STORAGE/root" --runroot "$STORAGE/run"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

case $("$node" --version) in
  v24.*) ;;
  *) echo "build-offline: $node is not Node 24; set NODE24 to its path" >&2; exit 1 ;;
esac
for tool in buildah nft npm; do
  command -v "$tool" >/dev/null || { echo "build-offline: $tool is missing" >&2; exit 1; }
done

if ! buildah "$@" inspect --type image "$base" >/dev/null 2>&1; then
  root=$work/root
  mkdir -p "$root/usr/local/bin" "$root/usr/local/lib/node_modules" "$root/root" "$root/tmp" "$root/etc"
  # Programs refer to /bin and /lib, even where these are links.
  for directory in bin sbin lib lib64; do
    mkdir -p "$root/usr/$directory" && ln -s "usr/$directory" "$root/$directory"
  done
  # shellcheck disable=SC2086 -- they are words
  PATH=$PATH:/usr/sbin:/sbin sh deploy/image/gather.sh "$root" $tools nft
  sh deploy/image/gather.sh "$root" "$node"
  # The bundler requires this separate file of libc.
  libc=$(ldd "$node" | sed -n 's/.*=> \(\/[^ ]*\/libc\.so\.6\) .*/\1/p')
  cp -L --parents "${libc%/*}/librt.so.1" "$root/"
  rm -rf "$root/usr/share/sbom"
  [ "$node" = /usr/local/bin/node ] || mv "$root$node" "$root/usr/local/bin/node"
  cp -RL "$(npm root -g)/npm" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  chmod 755 "$root/usr/local/lib/node_modules/npm/bin/npm-cli.js"
  echo 'root:x:0:0::/root:/bin/sh' >"$root/etc/passwd"
  chmod 1777 "$root/tmp"
  certificates=/etc/ssl/certs/ca-certificates.crt
  if [ -f "$certificates" ]; then cp -L --parents "$certificates" "$root/"; fi
  container=$(buildah "$@" from scratch)
  buildah "$@" add -q "$container" "$root" /
  buildah "$@" config --env PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$container"
  buildah "$@" commit -q --format docker "$container" "$base" >/dev/null
  buildah "$@" rm "$container" >/dev/null
fi

# Shares npm's cache of this machine, so npm downloads only missing packages.
cat >"$work/npmrc" <<END
cache=/npm-cache
prefer-offline=true
cafile=/etc/ssl/certs/ca-certificates.crt
update-notifier=false
END
mkdir -p "$(npm config get cache)"
# The docker format supports health checks.
for target in sidecar full; do
  [ "$target" = full ] && tag=$image || tag=$image-sidecar
  buildah "$@" bud --isolation chroot --format docker --layers=false --pull-never --target "$target" \
    --build-arg BASE="$base" --build-arg VERSION="$(node -p 'require("./package.json").version')" \
    --volume "$(npm config get cache):/npm-cache:rw" --volume "$work/npmrc:/root/.npmrc:ro" \
    --tag "$tag" .
done
