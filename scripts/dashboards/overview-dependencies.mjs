import { quantile, rate } from './expressions.mjs'
import { series } from './panel.mjs'
import { POD } from './variables.mjs'

const ENDED = 'squall_outbound_connections_total'
const FAILED = `${POD}, outcome!="ok"`

/** The panels of outgoing connections, which sidecars with --outbound or --captured have. */
export const dependencies = [
  series({
    title: 'Failed connections: injected and real',
    description:
      'Rate of failed connections to dependencies: closed or blocked by a fault (injected), or failed without a fault (real).',
    unit: 'ops',
    stack: true,
    queries: [
      {
        expr: rate(ENDED, `${FAILED}, origin="injected"`, 'destination, outcome'),
        legend: 'injected: {{destination}} {{outcome}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: rate(ENDED, `${FAILED}, origin="real"`, 'destination, outcome'),
        legend: 'real: {{destination}} {{outcome}}',
        role: 'real',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Open connections by dependency',
    description:
      'Open TCP connections by dependency. A steady increase suggests a connection leak.',
    unit: 'short',
    queries: [
      {
        expr: `sum by (destination) (squall_outbound_open_connections{${POD}})`,
        legend: '{{destination}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Time to connect by dependency (p95)',
    description: '95th percentile of the TCP connection time, by dependency.',
    unit: 's',
    queries: [
      {
        expr: quantile(0.95, 'squall_outbound_connect_seconds', POD, 'destination'),
        legend: '{{destination}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Bytes by dependency',
    description: 'Bytes per second sent to and received from each dependency.',
    unit: 'Bps',
    queries: [
      {
        expr: rate('squall_outbound_bytes_total', POD, 'destination, direction'),
        legend: '{{destination}} {{direction}}',
        role: 'plain',
        shades: true,
      },
    ],
  }),
]
