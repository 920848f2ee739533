import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../lib/proc.mjs'

const VARIABLE = 'BENCH_ENVOY'
const TYPES = 'type.googleapis.com/envoy.extensions'

/**
 * Envoy on one thread with its fault filter in the chain, which delays so many calls in a hundred.
 * @param {string} name
 * @param {{ percent: number, delayMs: number }} fault
 * @returns {import('./index.mjs').Peer}
 */
export function envoyWithFault(name, fault) {
  return {
    name,
    summary: `Envoy, one thread, its fault filter delaying ${fault.percent} % of calls; does not read the body`,
    missing: () =>
      findProgram('envoy', VARIABLE) ? undefined : `no envoy on PATH nor in ${VARIABLE}`,
    command: ({ port, upstreamPort, directory }) => {
      mkdirSync(directory, { recursive: true })
      const file = join(directory, 'envoy.json')
      writeFileSync(file, JSON.stringify(configuration(port, upstreamPort, fault)))
      const alone = ['--concurrency', '1', '--disable-hot-restart', '--log-level', 'error']
      return { file: findProgram('envoy', VARIABLE) ?? 'envoy', args: [...alone, '-c', file] }
    },
  }
}

/** @param {number} port */
const address = (port) => ({ socket_address: { address: '127.0.0.1', port_value: port } })

/** @param {number} port @param {number} upstreamPort @param {{ percent: number, delayMs: number }} fault */
function configuration(port, upstreamPort, fault) {
  const faults = {
    name: 'envoy.filters.http.fault',
    typed_config: {
      '@type': `${TYPES}.filters.http.fault.v3.HTTPFault`,
      delay: {
        fixed_delay: `${fault.delayMs / 1000}s`,
        percentage: { numerator: fault.percent, denominator: 'HUNDRED' },
      },
    },
  }
  const router = {
    name: 'envoy.filters.http.router',
    typed_config: {
      '@type': `${TYPES}.filters.http.router.v3.Router`,
      suppress_envoy_headers: true,
    },
  }
  const route = { match: { prefix: '/' }, route: { cluster: 'app', timeout: '0s' } }
  const manager = {
    name: 'envoy.filters.network.http_connection_manager',
    typed_config: {
      '@type': `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: 'front',
      codec_type: 'HTTP1',
      stream_idle_timeout: '0s',
      generate_request_id: false,
      route_config: { virtual_hosts: [{ name: 'app', domains: ['*'], routes: [route] }] },
      http_filters: [faults, router],
    },
  }
  const endpoint = { endpoint: { address: address(upstreamPort) } }
  const bounds = { max_connections: 10_000, max_pending_requests: 10_000, max_requests: 10_000 }
  return {
    static_resources: {
      listeners: [{ address: address(port), filter_chains: [{ filters: [manager] }] }],
      clusters: [
        {
          name: 'app',
          type: 'STATIC',
          connect_timeout: '5s',
          circuit_breakers: { thresholds: [bounds] },
          load_assignment: { cluster_name: 'app', endpoints: [{ lb_endpoints: [endpoint] }] },
        },
      ],
    },
  }
}
