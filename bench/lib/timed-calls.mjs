// Calls one tool steadily in a thread of its own, so that nothing but the proxy makes calls wait.
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { post } from './check.mjs'
import { workload } from './workloads.mjs'

const CALLS_PER_SECOND = 500
const FILE = new URL(import.meta.url)

/**
 * Calls for so many seconds; resolves with what each call took, in milliseconds.
 * @param {number} port
 * @param {number} seconds
 * @returns {Promise<number[]>}
 */
export function timedCalls(port, seconds) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(FILE, { workerData: { port, seconds } })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

if (parentPort !== null) {
  const { port, seconds } = workerData
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const { request } = workload('small')
  /** @type {number[]} */
  const took = []
  const calls = []
  const began = performance.now()
  for (let n = 0; performance.now() - began < seconds * 1000; n++) {
    const sent = performance.now()
    calls.push(post(port, agent, request).then(() => took.push(performance.now() - sent)))
    const due = began + ((n + 1) * 1000) / CALLS_PER_SECOND
    if (due > performance.now()) await sleep(due - performance.now())
  }
  await Promise.all(calls)
  agent.destroy()
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort.postMessage(took)
}
