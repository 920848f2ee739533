import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runToEnd } from './children.mjs'
import { REQUEST_HEADERS } from './workloads.mjs'

const MARK = 'BENCH-RESULT '

/**
 * @param {string} wrk
 * @param {import('./load.mjs').Load} load
 * @returns {Promise<import('./load.mjs').LoadResult>}
 */
export async function wrkLoad(wrk, { port, workload, connections, seconds, directory }) {
  const bodyFile = join(directory, 'request.json')
  const scriptFile = join(directory, 'post.lua')
  writeFileSync(bodyFile, workload.request)
  writeFileSync(scriptFile, script(bodyFile))
  const output = await runToEnd({
    file: wrk,
    args: [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '20s',
      '--latency',
      '-s',
      scriptFile,
      `http://127.0.0.1:${port}/mcp`,
    ],
  })
  const line = output.split('\n').find((text) => text.startsWith(MARK))
  if (line === undefined) throw new Error(`wrk gave no result:\n${output}`)
  const [calls, micros, p50, p99, p999, errors] = line.slice(MARK.length).split(' ').map(Number)
  return {
    calls: calls ?? 0,
    callsPerSecond: ((calls ?? 0) * 1e6) / (micros ?? 1),
    p50Ms: (p50 ?? 0) / 1000,
    p99Ms: (p99 ?? 0) / 1000,
    p999Ms: (p999 ?? 0) / 1000,
    errors: errors ?? 0,
  }
}

/** The request never changes, so wrk formats it once. @param {string} bodyFile */
function script(bodyFile) {
  const headers = Object.entries(REQUEST_HEADERS).map(
    ([name, value]) => `wrk.headers['${name}'] = '${value}'`,
  )
  return `wrk.method = 'POST'
local file = io.open('${bodyFile}', 'rb')
wrk.body = file:read('*a')
file:close()
${headers.join('\n')}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n${MARK}%d %d %d %d %d %d\\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), e.connect + e.read + e.write + e.status + e.timeout))
end
`
}
