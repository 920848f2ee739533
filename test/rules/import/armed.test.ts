// Each fault of mcp-chaos and mcp-chaos-monkey, converted, then seen by a client of the proxy.
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { resultText, whenAsked } from '../../faults/apps.ts'
import { call, callMessage, startSidecar } from '../../support/wire.ts'
import { closers } from '../../support/closers.ts'
import { imported } from './imported.ts'
import { type OwnersFault, owned } from './owners-faults.ts'

const opened = closers()

const DATA = '{"value":7,"unit":"C","items":[1,2,3,4]}'

/** An upstream whose tools respond with JSON in a text. */
const json: RequestListener = (req, res) => {
  whenAsked(req, ([message]) => {
    res.setHeader('content-type', 'application/json')
    res.end(resultText(message?.id ?? 0, DATA))
  })
}
const sse: RequestListener = (req, res) => {
  whenAsked(req, ([message]) => {
    res.setHeader('content-type', 'text/event-stream')
    res.end(`event: message\ndata: ${resultText(message?.id ?? 0, DATA)}\n\n`)
  })
}

/** The response to a call. */
interface Met {
  readonly status: number
  readonly type: string
  readonly retryAfter: string | undefined
  /** The message of the body or of the last event; undefined when it is no JSON. */
  readonly message: unknown
  readonly text: string
  readonly ms: number
  /** True when the server got the call. */
  readonly executed: boolean
}

type Expected = (met: Met | 'cut', executed: boolean) => void

const failsWith =
  (message: string): Expected =>
  (met, executed) => {
    expect(met).toMatchObject({ status: 200, message: { error: { code: -32000, message } } })
    expect(executed).toBe(true)
  }
const isCut =
  (byServer: boolean): Expected =>
  (met, executed) => {
    expect(met).toBe('cut')
    expect(executed).toBe(byServer)
  }
const isLate =
  (ms: number): Expected =>
  (met, executed) => {
    expect(met).toMatchObject({ status: 200, message: { result: {} } })
    expect(met !== 'cut' && met.ms).toBeGreaterThanOrEqual(ms - 2)
    expect(executed).toBe(true)
  }

/** Returns the value that the text of the result holds. */
function dataOf(met: Met | 'cut'): unknown {
  const text = /"text":("(?:[^"\\]|\\.)*")/.exec(met === 'cut' ? '' : met.text)?.[1]
  return JSON.parse(JSON.parse(text ?? '""') as string)
}

const failed = (status: number, error: string, retryAfter?: string): Expected => {
  const text = JSON.stringify({ error })
  return (met, executed) => {
    expect(met).toMatchObject({ status, retryAfter, type: 'application/json', text })
    expect(executed).toBe(false)
  }
}
const holds =
  (data: object): Expected =>
  (met) =>
    expect(dataOf(met)).toEqual(data)

const PROMISES: Readonly<Record<OwnersFault, Expected>> = {
  latency: isLate(40),
  'latency with jitter': isLate(30),
  error_injection: failsWith('injected error'),
  burst_error: failsWith('injected burst error'),
  drop_tool: failsWith("tool 'echo' unavailable"),
  registry_inconsistency: failsWith("tool 'echo' not found (registry inconsistency)"),
  server_degradation: failsWith("server hosting 'echo' degraded"),
  schema_drift: (met) => expect(dataOf(met)).not.toEqual(JSON.parse(DATA)),
  partial_result: holds({ value: 7, unit: 'C', items: [1, 2] }),
  'monkey latency': isLate(40),
  error: failed(503, 'down'),
  timeout: isCut(false),
  malformed: (met) => expect(met).toMatchObject({ status: 200, message: undefined }),
  'connection-refused': isCut(false),
  'connection-drop': isCut(true),
  'connection-drop after bytes': isCut(true),
  'connection-drop after a time': isCut(true),
  'rate-limit': failed(429, 'Too Many Requests', '30'),
  'schema-mismatch': holds({ value: 7, unit: 'C' }),
}

const APPS = { JSON: json, SSE: sse }
const CASES = (['JSON', 'SSE'] as const).flatMap((kind) =>
  owned(PROMISES).map((each) => ({ ...each, kind })),
)

it.each(CASES)('$name acts on a response of $kind', async ({ kind, file, promise }) => {
  const { rules } = imported(file).file
  let executed = false
  const upstream: RequestListener = (req, res) => {
    executed = true
    APPS[kind](req, res)
  }
  const stage = opened(await startSidecar({ rules, upstream }))
  const since = performance.now()
  const met = await call(stage, callMessage(1)).then(
    ({ status, headers, text: body }): Met => ({
      status,
      type: headers['content-type'] ?? '',
      retryAfter: headers['retry-after'],
      message: messageOf(body),
      text: body,
      ms: performance.now() - since,
      executed,
    }),
    () => 'cut' as const,
  )
  promise(met, executed)
  await stage.settled()
  expect(stage.counts().injected).toBe(1)
  expect(stage.broken).toEqual([])
})

function messageOf(body: string): unknown {
  try {
    return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body)
  } catch {
    return undefined
  }
}
