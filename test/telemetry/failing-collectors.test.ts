// part: slow
import { afterEach, expect, it, vi } from 'vitest'
import { closers } from '../support/closers.ts'
import { exportingTo, HEADER, message, post, traceparent } from './sampled-calls.ts'

const start = exportingTo(closers())

afterEach(() => void vi.unstubAllEnvs())

it.each([500, 'reset', 'hang'] as const)(
  'a collector that fails (%s) delays no call; spans are bounded and counted',
  async (behaviour) => {
    const otel = { OTEL_BSP_MAX_QUEUE_SIZE: '40', OTEL_EXPORTER_OTLP_TIMEOUT: '300' }
    const { collector, ruled, squall } = await start({ behaviour, otel })
    const headers = { traceparent: traceparent(HEADER) }
    for (let id = 0; id < 200; id++) {
      expect(await post(ruled, message(id), headers)).toContain('fine')
    }
    // Everything beyond the queue is dropped at once, and the queue when its export fails.
    await squall.reaches('squall_spans_dropped_total', {}, 200)
    expect(collector.spans).toHaveLength(0)
    const lines = squall.logs.filter(({ msg }) => msg === 'spans were dropped')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'warn', collector: collector.endpoint })
    collector.behaviour = 200
    await post(ruled, message(201), headers)
    await collector.received(1)
  },
)
