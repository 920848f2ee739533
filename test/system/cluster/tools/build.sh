#!/bin/sh
# build.sh [FOLDER]: builds the programs of a Kubernetes cluster from their Go modules, into build/cluster/bin
# or FOLDER. What is there already, in this version, is left alone. Needs go 1.24 or newer and a Go module
# proxy; with an empty cache it takes minutes, and about 4 GB of disk.
set -eu

cd "$(dirname "$0")"
bin=${1:-../../../../build/cluster/bin}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)

kubernetes=$(sed -n 's#^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*#\1#p' go.mod)
etcd=$(sed -n 's#^[[:space:]]*go.etcd.io/etcd/server/v3 \(v[0-9.]*\).*#\1#p' go.mod)
minor=${kubernetes#v1.}
version=k8s.io/component-base/version
flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}"

# build NAME PACKAGE VERSION: the file beside it tells which version was built.
build() {
  if [ -x "$bin/$1" ] && [ "$(cat "$bin/.$1" 2>/dev/null)" = "$3" ]; then
    echo "$1 $3 is there"
    return
  fi
  echo "building $1 $3"
  go build -ldflags "$flags" -o "$bin/$1" "$2"
  echo "$3" >"$bin/.$1"
}

command -v go >/dev/null || { echo 'build.sh: go is missing: install Go 1.24 or newer' >&2; exit 1; }
build etcd go.etcd.io/etcd/server/v3 "$etcd"
for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
  build "$name" "k8s.io/kubernetes/cmd/$name" "$kubernetes"
done
# Static, since there is nothing else in its image.
export CGO_ENABLED=0
build pause ./pause 1
