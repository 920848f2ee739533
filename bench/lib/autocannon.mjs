import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runToEnd } from './children.mjs'
import { REQUEST_HEADERS } from './workloads.mjs'

/**
 * The stand-in for wrk. It runs in a process of its own but costs as much as a proxy does: calls/s
 * are then a floor, CPU per call is still right. Latencies come in whole milliseconds.
 * @param {import('./load.mjs').Load} load
 * @returns {Promise<import('./load.mjs').LoadResult>}
 */
export async function autocannonLoad({ port, workload, connections, seconds, directory }) {
  const bodyFile = join(directory, 'request.json')
  writeFileSync(bodyFile, workload.request)
  const program = createRequire(import.meta.url).resolve('autocannon')
  const headers = Object.entries(REQUEST_HEADERS).flatMap(([name, value]) => [
    '-H',
    `${name}=${value}`,
  ])
  const options = ['-m', 'POST', '-c', String(connections), '-d', String(seconds), '-t', '20']
  options.push('-i', bodyFile, `http://127.0.0.1:${port}/mcp`)
  const output = await runToEnd({
    file: process.execPath,
    args: [program, '--json', '--no-progress', ...headers, ...options],
  })
  const result = JSON.parse(output)
  return {
    calls: result['2xx'],
    callsPerSecond: result['2xx'] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    p999Ms: result.latency.p99_9,
    errors: result.errors + result.timeouts + result.non2xx,
  }
}
