import { mkdirSync } from 'node:fs'
import { findProgram } from '../lib/proc.mjs'

const VARIABLE = 'BENCH_MITMDUMP'

/** @type {import('./index.mjs').Peer} */
export const mitmproxy = {
  name: 'mitmproxy',
  summary: 'mitmdump as a reverse proxy, no script, bodies streamed',
  missing: () =>
    findProgram('mitmdump', VARIABLE) ? undefined : `no mitmdump on PATH nor in ${VARIABLE}`,
  command: ({ port, upstreamPort, directory }) => {
    mkdirSync(directory, { recursive: true })
    const settings = [
      `confdir=${directory}`,
      // Its own host in place of the client's, and streams held until they end, would be wrong.
      'keep_host_header=true',
      'stream_large_bodies=1',
      'anticomp=false',
    ].flatMap((setting) => ['--set', setting])
    const places = ['--listen-host', '127.0.0.1', '--listen-port', String(port)]
    const mode = ['--mode', `reverse:http://127.0.0.1:${upstreamPort}`]
    return {
      file: findProgram('mitmdump', VARIABLE) ?? 'mitmdump',
      args: ['--quiet', ...mode, ...places, ...settings],
    }
  },
}
