/** From a neighbour in the cluster to the timeout of a connect. */
export const CONNECT_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
] as const

/** The metrics of outgoing connections, which `METRICS` contains. */
export const OUTBOUND_METRICS = [
  {
    name: 'squall_outbound_connections_total',
    type: 'counter',
    help: 'TCP connections to dependencies that ended, by outcome and origin: injected where a fault ended the connection, or held it until its end.',
    labels: ['destination', 'outcome', 'origin'],
  },
  {
    name: 'squall_outbound_open_connections',
    type: 'gauge',
    help: 'Open TCP connections to dependencies.',
    labels: ['destination'],
  },
  {
    name: 'squall_outbound_bytes_total',
    type: 'counter',
    help: 'Bytes of TCP connections to dependencies: sent to them, or received from them.',
    labels: ['destination', 'direction'],
  },
  {
    name: 'squall_outbound_connect_seconds',
    type: 'histogram',
    help: 'Time to connect to a dependency.',
    labels: ['destination'],
    buckets: CONNECT_SECONDS,
  },
] as const
