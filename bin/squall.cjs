#!/usr/bin/env node
// Starts the program. In a clone that is not built yet, builds it first.
// oxlint-disable-next-line import/no-unassigned-import -- it only has to run, and first
require('./node-version.cjs')
var fs = require('fs')
var path = require('path')

var root = path.join(__dirname, '..')
var program = path.join(root, 'dist', 'cli', 'main.js')
var builds = path.join(root, 'build')
// Holds the process that builds.
var lock = path.join(builds, 'first-start')
var HEAD_START_MS = 2000
var LONGEST_MS = 300000

if (fs.existsSync(program)) require(program)
else begin()

function begin() {
  fs.mkdirSync(builds, { recursive: true })
  if (isBuilding()) return wait()
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return wait()
  }
  build()
}

function build() {
  var stop = showProgress('building')
  // Standard output belongs to the command.
  var options = { cwd: root, stdio: ['ignore', 2, 2] }
  var child = require('child_process').spawn(
    'npm',
    ['run', '-s', 'build', '--', '--no-check'],
    options,
  )
  child.on('error', function () {
    ended(1)
  })
  child.on('close', ended)

  function ended(code) {
    stop()
    fs.rmSync(lock, { force: true })
    if (code === 0 && fs.existsSync(program)) {
      require(program)
      return
    }
    process.stderr.write('squall: the build failed; run npm ci, then npm run build\n')
    process.exit(1)
  }
}

// The command that builds may be the server of this one, so it starts first.
function wait() {
  var stop = showProgress('waiting for the build of another command')
  var timer = setInterval(function () {
    var isThere = fs.existsSync(program)
    if (!isThere && isBuilding()) return
    clearInterval(timer)
    stop()
    if (!isThere) begin()
    else
      setTimeout(function () {
        require(program)
      }, HEAD_START_MS)
  }, 200)
}

// A build that was started by npm has a directory with the number of its process. A number may
// belong to another process by now, so that what is old counts for nothing.
function isBuilding() {
  return fs.readdirSync(builds).some(function (name) {
    var file = path.join(builds, name)
    try {
      var age = Date.now() - fs.statSync(file).mtimeMs
      if (name !== 'first-start') {
        return /^next-\d+$/.test(name) && age < LONGEST_MS && isAlive(name.slice(5))
      }
      var pid = fs.readFileSync(lock, 'utf8')
      if (pid === '' ? age < HEAD_START_MS : age < LONGEST_MS && isAlive(pid)) return true
      fs.rmSync(lock, { force: true })
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
    return false
  })
}

function isAlive(pid) {
  if (Number(pid) === process.pid) return false
  try {
    return process.kill(Number(pid), 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

// Shows the seconds on a terminal, and one line elsewhere; returns what ends it.
function showProgress(what) {
  var text = 'squall: first start in this clone: ' + what + ' (about 10 s)'
  process.stderr.write(text + (process.stderr.isTTY ? '' : '\n'))
  if (!process.stderr.isTTY) return function () {}
  var seconds = 0
  var timer = setInterval(function () {
    process.stderr.write('\r' + text + ' ' + ++seconds + ' s ')
  }, 1000)
  return function () {
    clearInterval(timer)
    process.stderr.write('\n')
  }
}
