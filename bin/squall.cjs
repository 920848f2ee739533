#!/usr/bin/env node
// Starts the program. In a clone that is not built yet, builds it first.
// oxlint-disable-next-line import/no-unassigned-import -- it only has to run, and first
require('./node-version.cjs')
var fs = require('fs')
var path = require('path')

var root = path.join(__dirname, '..')
var program = path.join(root, 'dist', 'cli', 'main.js')
if (!fs.existsSync(program)) {
  process.stderr.write('squall: first start in this clone: building\n')
  var built = require('child_process').spawnSync('npm', ['run', '-s', 'build'], {
    cwd: root,
    // Standard output belongs to the command.
    stdio: ['ignore', 2, 2],
  })
  if (built.status !== 0) {
    process.stderr.write('squall: the build failed; run npm ci, then npm run build\n')
    process.exit(1)
  }
}
require(program)
