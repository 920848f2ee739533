import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('./node-delayed-server.mjs', import.meta.url))

/**
 * Two sockets of Node tied together, with a plain `setTimeout` in front of some calls: how exactly
 * a delay can last in Node on this machine.
 * @param {string} name
 * @param {import('./squall-rules.mjs').Delay} delay
 * @returns {import('./index.mjs').Peer}
 */
export function nodeDelayed(name, { percent, delayMs }) {
  return {
    name,
    summary: `two piped Node sockets, no parsing, ${percent} % of calls delayed by a setTimeout of ${delayMs} ms`,
    command: ({ port, upstreamPort }) => ({
      file: process.execPath,
      args: [server, ...[port, upstreamPort, percent, delayMs].map(String)],
    }),
  }
}
