/**
 * A sidecar that `squall inject` has put into a pod has 256 MiB and a heap of 153 MiB. Two calls of
 * 4 MiB with 1.3 million empty objects in their arguments, or one response of nested arrays to a
 * call that `rewrite` was about, took more than that: the process ended with SIGABRT, and the pod's
 * traffic with it. Packed with gzip the calls had 4 KB each.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callWith, HOSTILE_VALUES, PACKED, posted, resultWith } from './hostile.ts'
import {
  exchange,
  metricValue,
  type RawApp,
  response,
  type SidecarProcess,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { INJECTED_LIMIT, INJECTED_NODE_OPTIONS } from '../support/wire/sidecar-process.ts'

const SIZE = 4_194_000
const JSON_TYPE = ['Content-Type', 'application/json']
const RULES = `version: 1
rules:
  - name: drift
    match: { tool: drifts }
    faults: [{ rewrite: { set: { /b: 1 } } }]
`

let directory: string
let app: RawApp
let squall: SidecarProcess
/** The response of the upstream. */
let responded = ''

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'squall-'))
  const rules = join(directory, 'rules.yaml')
  writeFileSync(rules, RULES)
  app = await startUpstream({
    keepBytes: false,
    keepBody: false,
    script: (e) => void e.write(response('200 OK', JSON_TYPE, responded)),
  })
  squall = await startSidecar({
    upstream: app.url,
    process: { flags: ['--rules', rules], nodeOptions: INJECTED_NODE_OPTIONS },
  })
})

afterAll(async () => {
  await squall.stop()
  await app.close()
  rmSync(directory, { recursive: true })
})

async function send(request: Buffer): Promise<number | undefined> {
  const { response: received } = await exchange(squall.port, request, 'POST')
  return received?.status
}

const unread = async (reason: string): Promise<number> =>
  metricValue(await squall.metrics(), 'squall_unclassified_total', { reason })

test('calls with more values than the heap has room for pass unread', async () => {
  responded = resultWith('0')
  const call = callWith(HOSTILE_VALUES['objects']!(SIZE - 200))
  const before = await unread('too_complex')
  expect(await Promise.all([1, 2, 3].map(() => send(posted(call))))).toEqual([200, 200, 200])
  expect(await unread('too_complex')).toBe(before + 3)
  expect(squall.rss()).toBeLessThan(INJECTED_LIMIT)
})

test.each(Object.keys(PACKED))('%s cannot hide how large a call is', async (coding) => {
  responded = resultWith('0')
  const call = PACKED[coding]!(Buffer.from(callWith(HOSTILE_VALUES['objects']!(SIZE - 200))))
  const packed = posted(call, [`Content-Encoding: ${coding}`])
  const before = (await unread('too_complex')) + (await unread('encoding'))
  expect(await Promise.all([1, 2, 3].map(() => send(packed)))).toEqual([200, 200, 200])
  expect((await unread('too_complex')) + (await unread('encoding'))).toBe(before + 3)
  expect(squall.rss()).toBeLessThan(INJECTED_LIMIT)
})

test.each(['arrays', 'objects', 'keys', 'texts'])(
  'a result of %s that a fault is about passes byte for byte',
  async (kind) => {
    responded = resultWith(HOSTILE_VALUES[kind]!(3_800_000))
    const { response: received } = await exchange(
      squall.port,
      posted(callWith('0', 'drifts')),
      'POST',
    )
    expect(received?.body.equals(Buffer.from(responded))).toBe(true)
    const skipped = { rule: 'drift', result: 'not_applicable' }
    expect(
      metricValue(await squall.metrics(), 'squall_rule_evaluations_total', skipped),
    ).toBeGreaterThan(0)
  },
)
