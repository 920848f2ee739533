import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../lib/children.mjs'
import { findProgram } from '../lib/proc.mjs'

const VARIABLE = 'BENCH_TOXIPROXY'

/** @type {import('./index.mjs').Peer} */
export const toxiproxy = {
  name: 'toxiproxy',
  summary: 'toxiproxy without a toxic: forwards TCP without parsing calls',
  missing: () =>
    findProgram('toxiproxy-server', VARIABLE)
      ? undefined
      : `no toxiproxy-server on PATH nor in ${VARIABLE}`,
  command: async ({ port, upstreamPort, directory }) => {
    mkdirSync(directory, { recursive: true })
    const file = join(directory, 'toxiproxy.json')
    const app = {
      name: 'app',
      listen: `127.0.0.1:${port}`,
      upstream: `127.0.0.1:${upstreamPort}`,
      enabled: true,
    }
    writeFileSync(file, JSON.stringify([app]))
    // Its own port, for changes, must be free too.
    const api = ['-host', '127.0.0.1', '-port', String(await freePort())]
    return {
      file: findProgram('toxiproxy-server', VARIABLE) ?? 'toxiproxy-server',
      args: [...api, '-config', file],
      env: { LOG_LEVEL: 'error' },
    }
  },
}
