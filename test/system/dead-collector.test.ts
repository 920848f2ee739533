// part: soak
import { afterAll, expect, test } from 'vitest'
import {
  call,
  callMessage,
  median,
  metricValue,
  type SidecarProcess,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'

const SECONDS = Number(process.env['SQUALL_COLLECTOR_SECONDS'] ?? 600)
/** The first part of the run fills the queue of spans and the caches. */
const WARM_UP = 0.3
const WAYS = [500, 'hang', 'reset'] as const
const HEADERS = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01' }

const opened = closers()
const started: SidecarProcess[] = []

afterAll(() => Promise.all(started.map((squall) => squall.stop())))

test(
  `a collector that fails for ${SECONDS} s makes no call slower; memory is bounded and each span counted`,
  { timeout: (SECONDS + 90) * 1000 },
  async () => {
    const app = opened(
      await startUpstream((request, response) => {
        response.setHeader('content-type', 'application/json')
        request.resume().on('end', () => response.end('{"jsonrpc":"2.0","id":1,"result":{}}'))
      }),
    )
    const collector = opened(await startUpstream('collector'))
    const plain = await startSidecar({ upstream: app.url, process: {} })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }
    const exporting = await startSidecar({ upstream: app.url, process: { env } })
    started.push(plain, exporting)
    const timed = async ({ port }: SidecarProcess): Promise<number> => {
      const before = performance.now()
      const place = { port, host: '127.0.0.1', headers: HEADERS }
      expect((await call(place, callMessage(1))).status).toBe(200)
      return performance.now() - before
    }
    const began = performance.now()
    const share = (): number => (performance.now() - began) / 1000 / SECONDS
    const late: { plain: number[]; exporting: number[] } = { plain: [], exporting: [] }
    let warm = 0
    let calls = 0
    for (let at = share(); at < 1; at = share()) {
      // Each way for a tenth of the time, again and again.
      collector.behaviour = WAYS[Math.floor(at * 10) % WAYS.length]!
      const times = { plain: await timed(plain), exporting: await timed(exporting) }
      calls++
      if (at < WARM_UP) warm = Math.max(warm, exporting.rss())
      else for (const key of ['plain', 'exporting'] as const) late[key].push(times[key])
    }
    collector.behaviour = 200
    await eventually(async () => {
      const dropped = metricValue(await exporting.metrics(), 'squall_spans_dropped_total')
      // Spans that wait at the end are exported: the collector responds again.
      const known = `${dropped} dropped and ${collector.spans.length} exported`
      return dropped > 0 && dropped + collector.spans.length === calls
        ? undefined
        : `${known} of ${calls} spans`
    })
    const slower = median(late.exporting) / median(late.plain)
    const growth = exporting.rss() / warm
    process.stdout.write(
      `dead collector: ${calls} calls, ${slower.toFixed(2)} × the time without export, memory ${growth.toFixed(2)} ×\n`,
    )
    expect(slower).toBeLessThan(1.5)
    expect(growth).toBeLessThan(SECONDS < 120 ? 1.4 : 1.1)
  },
)
