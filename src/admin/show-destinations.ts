import type { OutboundCounts } from '../telemetry/outbound-counts.ts'

/** Shows the counts of all destinations. */
export function showDestinations(counts: OutboundCounts) {
  return counts.list().map(({ destination, open, sent, received, ended }) => {
    const sum = { ok: 0, real: 0, injected: 0 }
    for (const { labels, value } of ended) {
      const { origin, outcome } = labels
      sum[origin === 'injected' ? 'injected' : outcome === 'ok' ? 'ok' : 'real'] += value
    }
    return { destination, open, ...sum, sent, received }
  })
}
