# Fills Node's compile cache with the code that a sidecar runs: its start with rules, and the pod hooks.
set -eu
# Must match the image, because the cache is valid only for these options.
export NODE_OPTIONS=--max-semi-space-size=2
squall=/app/dist/cli/main.js
directory=/tmp/fill-compile-cache
mkdir "$directory"
cat >"$directory/rules.yaml" <<'RULES'
rules:
  - { name: late, match: { tool: late_* }, percent: 50, faults: [delay: { fixed: 1ms }] }
  - { name: gone, match: { tool: gone, headers: { x-run: { regex: a.b } } }, faults: [abort: { status: 503 }] }
RULES
# Uses a free port, because the build may share the network of another sidecar.
port=$(node -e 'const s = net.createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
node "$squall" validate "$directory/rules.yaml"
node "$squall" run --listen 127.0.0.1:0 --admin "127.0.0.1:$port" --control "unix:$directory/squall.sock" \
  --upstream http://127.0.0.1:9 --rules "$directory/rules.yaml" &
sidecar=$!
trap 'kill -TERM "$sidecar"' EXIT
node "$squall" wait-ready --admin "127.0.0.1:$port" --ready-wait 2s
node "$squall" pre-stop --control "unix:$directory/squall.sock" --stop-wait 0s
# Node writes the cache only when a program exits by itself.
trap - EXIT
kill -TERM "$sidecar"
wait "$sidecar"
rm -r "$directory"
