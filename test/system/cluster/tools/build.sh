#!/bin/sh
# build.sh [NAME...]: builds the programs of a Kubernetes cluster from their Go modules, or only those
# that are named, and links them into build/cluster/bin. They are kept by version in SQUALL_TOOLS, by
# default ~/.cache/squall-tools, which all clones share. Needs go 1.24 or newer and a Go module proxy;
# what is not there yet takes minutes, and about 4 GB of disk.
set -eu

cd "$(dirname "$0")"
cache=${SQUALL_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/squall-tools}
mkdir -p ../../../../build/cluster/bin
bin=$(cd ../../../../build/cluster/bin && pwd)

kubernetes=$(sed -n 's#^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*#\1#p' go.mod)
etcd=$(sed -n 's#^[[:space:]]*go.etcd.io/etcd/server/v3 \(v[0-9.]*\).*#\1#p' go.mod)
minor=${kubernetes#v1.}
version=k8s.io/component-base/version
flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}"

# build NAME PACKAGE VERSION
build() {
  kept=$cache/$1-$3
  if [ ! -x "$kept/$1" ]; then
    command -v go >/dev/null || { echo 'build.sh: go is missing: install Go 1.24 or newer' >&2; exit 1; }
    echo "$1: building $3 into $kept"
    mkdir -p "$kept"
    # A build that is killed leaves nothing that looks complete.
    go build -ldflags "$flags" -o "$kept/$1.part" "$2"
    mv "$kept/$1.part" "$kept/$1"
  fi
  # A symbolic link would lead nowhere in the namespaces of the tests.
  ln -f "$kept/$1" "$bin/$1" 2>/dev/null || cp -f "$kept/$1" "$bin/$1"
  echo "$1: $3"
}

[ "$#" -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl pause
for name in "$@"; do
  case $name in
    etcd) build etcd go.etcd.io/etcd/server/v3 "$etcd" ;;
    # Static, since there is nothing else in its image.
    pause) (export CGO_ENABLED=0 && build pause ./pause 1) ;;
    *) build "$name" "k8s.io/kubernetes/cmd/$name" "$kubernetes" ;;
  esac
done
