import { fileURLToPath } from 'node:url'
import { squall } from './squall.mjs'

const SERVER = fileURLToPath(new URL('squall-metrics-server.mjs', import.meta.url))

/**
 * Squall with its metrics, or without: both by the same script and without rules, so that nothing
 * else differs.
 * @param {'on' | 'off'} metrics
 * @returns {import('./index.mjs').Peer}
 */
export function squallWithMetrics(metrics) {
  return {
    name: `squall-metrics-${metrics}`,
    summary: `this project with metrics ${metrics}`,
    missing: squall.missing,
    command: ({ port, upstreamPort, squallMain }) => ({
      file: process.execPath,
      args: [
        SERVER,
        squallMain,
        metrics,
        '--listen',
        `127.0.0.1:${port}`,
        '--upstream',
        `http://127.0.0.1:${upstreamPort}`,
      ],
    }),
  }
}
