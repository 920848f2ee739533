import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * @typedef {object} Command
 * @property {string} file
 * @property {readonly string[]} args
 * @property {NodeJS.ProcessEnv} [env]
 */

/**
 * @typedef {object} Child
 * @property {string} name
 * @property {number} pid
 * @property {() => string} output   the last lines it printed
 * @property {() => boolean} running
 * @property {() => Promise<void>} stop
 */

const OUTPUT_LIMIT = 4096
const STOP_GRACE_MS = 3000

/** @type {Set<import('node:child_process').ChildProcess>} */
const alive = new Set()

/** Ends every child that is still there; the last resort when this process goes. */
function killAll() {
  for (const child of alive) child.kill('SIGKILL')
}

/** Ctrl-C, a termination or a crash must not leave a child behind. */
export function endChildrenWithThisProcess() {
  process.once('exit', killAll)
  for (const [signal, code] of /** @type {const} */ ([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])) {
    process.once(signal, () => process.exit(code))
  }
}

/**
 * Starts a child process and keeps the tail of what it prints.
 * @param {string} name
 * @param {Command} command
 * @returns {Promise<Child>}
 */
export async function startChild(name, command) {
  const child = spawn(command.file, command.args, {
    env: { ...process.env, ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let tail = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (text) => {
      tail = (tail + text).slice(-OUTPUT_LIMIT)
    })
  }
  await once(child, 'spawn')
  alive.add(child)
  const gone = once(child, 'exit').then(() => alive.delete(child))
  const running = () => child.exitCode === null && child.signalCode === null
  return {
    name,
    pid: /** @type {number} */ (child.pid),
    output: () => tail,
    running,
    stop: async () => {
      if (!running()) return
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS)
      await gone
      clearTimeout(late)
    },
  }
}

/**
 * Runs a program to its end and gives its standard output.
 * @param {Command} command
 * @returns {Promise<string>}
 */
export async function runToEnd(command) {
  const child = spawn(command.file, command.args, { stdio: ['ignore', 'pipe', 'pipe'] })
  alive.add(child)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
  try {
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${command.file} ended with ${code}: ${err || out}`)
    return out
  } finally {
    alive.delete(child)
  }
}

/** A loopback port that was free a moment ago. @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/**
 * Waits until a child accepts connections; fails with what it printed when it does not.
 * @param {Child} child
 * @param {number} port
 * @param {number} [withinMs]
 */
export async function waitUntilAccepting(child, port, withinMs = 10_000) {
  const deadline = Date.now() + withinMs
  while (Date.now() < deadline) {
    if (!child.running()) throw new Error(`${child.name} ended: ${child.output().trim()}`)
    if (await accepts(port)) return
    await sleep(20)
  }
  throw new Error(`${child.name} did not listen within ${withinMs} ms: ${child.output().trim()}`)
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
