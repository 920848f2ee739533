// part: memory
/**
 * Sixty requests that were held took 210 MB, and 400 clients that never read a long stream 280 MB:
 * each was within its own bound, and nothing bounded their sum. The memory limit of a pod ends a
 * sidecar that holds that much.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callWith, HOSTILE_VALUES, posted, resultWith } from '../datapath/hostile.ts'
import {
  chunk,
  exchange,
  metricValue,
  type RawApp,
  RawClient,
  response,
  type Script,
  type SidecarProcess,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'

const MIB = 1024 * 1024
const BUDGET = 8 * MIB
const JSON_TYPE = ['Content-Type', 'application/json']
const LARGE = HOSTILE_VALUES['string']!(MIB)
const RULES = `version: 1
rules:
  - { name: hangs, match: { tool: hangs }, faults: [{ hang: {} }] }
  - { name: silent, match: { tool: silent }, faults: [{ delay: { fixed: 60s, at: response } }] }
`

let directory: string
let app: RawApp
let squall: SidecarProcess
let script: Script
let clients: RawClient[] = []

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'squall-'))
  const rules = join(directory, 'rules.yaml')
  writeFileSync(rules, RULES)
  script = (e) => void e.write(response('200 OK', JSON_TYPE, resultWith('0')))
  app = await startUpstream({ keepBytes: false, keepBody: false, script: (e) => script(e) })
  squall = await startSidecar({
    upstream: app.url,
    process: { flags: ['--rules', rules, '--max-memory', '8MiB'] },
  })
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.reset()
  await expect.poll(() => metric('squall_memory_held_bytes')).toBe(0)
  await squall.stop()
  await app.close()
  rmSync(directory, { recursive: true })
})

async function metric(name: string, reason?: string): Promise<number> {
  return metricValue(await squall.metrics(), name, reason === undefined ? {} : { reason })
}

const pressure = (reason: string): Promise<number> => metric('squall_memory_pressure_total', reason)

async function sending(count: number, bytes: Buffer): Promise<RawClient[]> {
  const fresh = await Promise.all(
    Array.from({ length: count }, () => RawClient.connect(squall.port)),
  )
  clients.push(...fresh)
  await Promise.all(fresh.map((client) => client.send(bytes, 'POST')))
  return fresh
}

test('calls that a fault holds are bounded together; what is above that passes unread', async () => {
  const held = await sending(12, posted(callWith(LARGE, 'hangs')))
  const through = Promise.all(held.map((client) => client.response()))
  await expect.poll(() => pressure('request_unread'), { timeout: 10_000 }).toBeGreaterThan(3)
  expect(await metric('squall_unclassified_total', 'memory')).toBeGreaterThan(3)
  expect(await metric('squall_memory_held_bytes')).toBeLessThan(BUDGET)
  // Ordinary calls are read all the same.
  const { response: small } = await exchange(squall.port, posted(callWith('0')), 'POST')
  expect(small?.status).toBe(200)
  await expect.poll(() => metric('squall_calls_total')).toBe(1)
  const answered = (): number => held.filter(({ responses }) => responses.length > 0).length
  await expect.poll(answered, { timeout: 10_000 }).toBeGreaterThan(3)
  for (const client of held) client.reset()
  const statuses = (await through).map((each) => each?.status)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(3)
})

test('a request waits for those that are still arriving, and then passes unread', async () => {
  const bytes = posted(callWith(LARGE))
  await sending(7, bytes.subarray(0, bytes.length - 1))
  await expect.poll(() => metric('squall_memory_held_bytes')).toBeGreaterThan(7 * MIB)
  const { response: received } = await exchange(squall.port, bytes, 'POST')
  expect(received?.status).toBe(200)
  expect(await pressure('request_waited')).toBe(1)
  expect(await metric('squall_unclassified_total', 'memory')).toBe(1)
})

test('responses that a fault holds are let go when there are too many', async () => {
  const body = resultWith(LARGE)
  script = (e) => void e.write(response('200 OK', JSON_TYPE, body))
  const waiting = await sending(6, posted(callWith('0', 'silent')))
  await expect.poll(() => pressure('fault_released'), { timeout: 10_000 }).toBeGreaterThan(0)
  const first = await Promise.race(waiting.map((client) => client.response()))
  expect(first?.body.equals(Buffer.from(body))).toBe(true)
})

test('clients that never read are given up, the longest first, before memory runs out', async () => {
  const piece = chunk('x'.repeat(64 * 1024))
  script = async (e) => {
    await e.write(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    for (let n = 0; n < 1000 && (await e.write(piece)); n++);
  }
  const stuck = await Promise.all(
    Array.from({ length: 90 }, () => RawClient.connect(squall.port, { keepBody: false })),
  )
  clients.push(...stuck)
  for (const client of stuck) {
    client.socket.pause()
    await client.send(posted(callWith('0')), 'POST')
  }
  await expect.poll(() => pressure('client_cut'), { timeout: 15_000 }).toBeGreaterThan(0)
  await expect
    .poll(() => metric('squall_memory_held_bytes'), { timeout: 15_000 })
    .toBeLessThanOrEqual(BUDGET)
  expect(squall.rss()).toBeLessThan(256 * MIB)
  const cut = { origin: 'squall', outcome: 'incomplete' }
  expect(metricValue(await squall.metrics(), 'squall_calls_total', cut)).toBeGreaterThan(0)
})
