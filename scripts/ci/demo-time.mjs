// Runs the demo with its build, as a newcomer waits for it, and fails when it takes 20 s or more.
import { spawnSync } from 'node:child_process'

const LIMIT = 20

const npm = (...args) => spawnSync('npm', ['run', ...args], { stdio: 'inherit' }).status ?? 1
if (npm('-s', 'clean') !== 0) process.exit(1)
const begun = performance.now()
const code = npm('demo')
const seconds = (performance.now() - begun) / 1000
console.log(`the demo took ${seconds.toFixed(1)} s, limit ${LIMIT} s`)
process.exitCode = code === 0 && seconds < LIMIT ? 0 : 1
