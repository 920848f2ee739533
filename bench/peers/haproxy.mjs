import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../lib/proc.mjs'

/** @type {import('./index.mjs').Peer} */
export const haproxy = {
  name: 'haproxy',
  summary: 'HAProxy, one thread; does not read the body',
  missing: () => (findProgram('haproxy') ? undefined : 'haproxy is not installed'),
  command: ({ port, upstreamPort, directory }) => {
    mkdirSync(directory, { recursive: true })
    const file = join(directory, 'haproxy.cfg')
    writeFileSync(file, configuration(port, upstreamPort))
    // -db: stay in the foreground, one process.
    return { file: findProgram('haproxy') ?? 'haproxy', args: ['-db', '-f', file] }
  },
}

/** @param {number} port @param {number} upstreamPort */
function configuration(port, upstreamPort) {
  return `global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  http-reuse always
frontend front
  bind 127.0.0.1:${port} backlog 4096
  default_backend app
backend app
  server app 127.0.0.1:${upstreamPort}
`
}
