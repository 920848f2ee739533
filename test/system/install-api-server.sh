#!/bin/sh
# Builds an API server of Kubernetes, and etcd for it, into build/system-tools/bin: ten minutes and 3 GB
# the first time. Only api-server.test.ts needs them. Needs go 1.24 or newer.
set -eu

cd "$(dirname "$0")/../.."
version=1.34.2
bin="$PWD/build/system-tools/bin"
module=build/system-tools/api-server
mkdir -p "$bin" "$module"
cd "$module"

# Kubernetes' own module names its parts by paths of its repository, so each is named by its version here.
parts=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
  printf 'module api-server\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
  sed -n "s#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging.*#\t\1 => \1 v0.${version#*.}#p" "$parts"
  printf ')\n'
} >go.mod
cat >main.go <<'END'
package main

import (
	"os"

	_ "go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
END
go mod tidy
base=k8s.io/component-base/version
go build -o "$bin/kube-apiserver" \
  -ldflags "-X $base.gitVersion=v$version -X $base.gitMajor=1 -X $base.gitMinor=34" .
go build -o "$bin/etcd" go.etcd.io/etcd/server/v3
echo "done: $("$bin/kube-apiserver" --version), $("$bin/etcd" --version | head -n 1)"
