// part: slow
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import {
  ASK,
  CA,
  judge,
  podOf,
  reviewOf,
  send,
  type StagedWebhook,
} from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { rounds } from '../../../../test/support/rounds.ts'

let staged: StagedWebhook
beforeAll(async () => {
  staged = await startSquall({ webhook: { reviewTimeoutMs: 3_000, maxReviewBytes: 1024 * 1024 } })
})
afterAll(() => staged.close())

const GOOD = JSON.stringify(reviewOf(podOf(ASK)))

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}

const bad: readonly [string, string, number, RegExp, Record<string, string>?][] = [
  ['of another type', GOOD, 415, /application\/json/, { 'content-type': 'text/plain' }],
  ['that is compressed', GOOD, 415, /uncompressed/, { 'content-encoding': 'gzip' }],
  ['that is not JSON', 'uid: 1', 400, /not valid JSON/],
  ['that is empty', '', 400, /not valid JSON/],
  ['that is cut off', GOOD.slice(0, -2), 400, /not valid JSON/],
  [
    'of an older version',
    GOOD.replace('k8s.io/v1', 'k8s.io/v1beta1'),
    400,
    /admissionReviewVersions: \["v1"\]/,
  ],
  ['that is another kind', GOOD.replace('AdmissionReview', 'Pod'), 400, /not an AdmissionReview/],
  [
    'without a request',
    '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    400,
    /must contain request\.uid/,
  ],
  ['without a uid', GOOD.replace('"uid"', '"id"'), 400, /must contain request\.uid/],
  ['that is a list', `[${GOOD}]`, 400, /not an AdmissionReview/],
  ['that is null', 'null', 400, /not an AdmissionReview/],
  ['that nests deeply', nested(5_000), 400, /deeper than 100/],
  ['that nests very deeply', '['.repeat(1_000_000), 400, /deeper than 100/],
]

test.each(bad)(
  'a body %s gets a clear complaint',
  async (_what, body, status, says, headers = {}) => {
    const answer = await send(staged.port, body, { headers })
    expect(answer.status).toBe(status)
    expect(answer.text).toMatch(says)
    expect(answer.text.trimEnd()).not.toContain('\n')
  },
)

test('a body that is too large is denied before it is read, with or without its length', async () => {
  const declared = await send(staged.port, '', {
    headers: { 'content-length': '20000000', expect: '100-continue' },
  }).catch(String)
  expect(declared).toMatchObject({ status: 413 })
  const socket = await handshake()
  socket.write(
    'POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`
  socket.on('error', () => undefined)
  const text = readAll(socket)
  for (let sent = 0; sent < 20 && socket.writable; sent++) socket.write(chunk)
  expect(await text).toMatch(/^HTTP\/1\.1 413 /)
})

test('a body that never ends is answered and cut', async () => {
  const socket = await handshake()
  socket.write(
    `POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  )
  expect(await readAll(socket)).toMatch(
    /^HTTP\/1\.1 408 [^]*the admission request did not arrive in time/,
  )
  expect(
    await staged.metric('squall_injections_total', { result: 'invalid', reason: 'slow_body' }),
  ).toBe(1)
})

test('HTTP/2, plain HTTP and old TLS are turned away', async () => {
  const h2 = connect({
    host: '127.0.0.1',
    port: staged.port,
    ca: CA.cert,
    ALPNProtocols: ['h2'],
  })
  await expect(once(h2, 'secureConnect')).rejects.toThrow(/alert no application protocol/i)
  const preface = await handshake()
  preface.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  expect(await readAll(preface)).toMatch(/^HTTP\/1\.1 400 /)
  const plain = connectPlain(staged.port, '127.0.0.1')
  plain.on('error', () => undefined)
  plain.write(`POST /mutate HTTP/1.1\r\nhost: x\r\n\r\n`)
  await once(plain, 'close')
  const old = connect({
    host: '127.0.0.1',
    port: staged.port,
    ca: CA.cert,
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  await expect(once(old, 'secureConnect')).rejects.toThrow()
  const upgrade = await handshake()
  upgrade.write(
    'GET /mutate HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  )
  expect(await readAll(upgrade)).toBe('')
})

test('many idle connections keep nobody from being answered', async () => {
  const sockets = await Promise.all(Array.from({ length: 60 }, handshake))
  expect(await judge(staged.port, podOf(ASK))).toMatchObject({ allowed: true })
  for (const socket of sockets) socket.destroy()
})

test('a pod that asks and is none is denied, and one that does not ask passes with a warning', async () => {
  const asks = { metadata: { annotations: ASK }, spec: { containers: 'none' } }
  expect(await judge(staged.port, asks)).toMatchObject({ allowed: false })
  const quiet = await judge(staged.port, { spec: { containers: 'none' } })
  expect(quiet.allowed).toBe(true)
  for (const object of [null, 1, 'pod', []]) {
    const verdict = await judge(staged.port, object)
    expect(verdict.allowed).toBe(false)
    expect(verdict.status!.message).toContain('contains no pod')
  }
})

test('line breaks, controls and foreign letters in annotations break neither answer nor log', async () => {
  const value = 'a\nb\r\n\u0000\u001b[31m\u202eüñ🌀\u2028'
  const from = staged.lines.length
  const verdict = await judge(
    staged.port,
    podOf({ ...ASK, [`squall.dev/${value}`]: value, 'squall.dev/mode': value }),
  )
  expect(verdict.allowed).toBe(false)
  // oxlint-disable-next-line no-control-regex
  expect(verdict.status!.message).not.toMatch(/[\u0000-\u001f\u2028\u202e]/)
  const line = staged.lines.slice(from)[0]!
  // oxlint-disable-next-line no-control-regex
  expect(String(line['detail'])).not.toMatch(/[\u0000-\u001f\u2028\u202e]/)
})

test('whatever is sent, there is a response with a reason, and the webhook lives on', async () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, -1, 1e21, '', 'true', '__proto__', 'squall', 3000),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(KEYS, fc.string({ maxLength: 6 })), tie('any'), { maxKeys: 5 }),
    ),
  })).any
  const pod = fc.record(
    {
      metadata: fc.oneof(
        value,
        fc.record({
          annotations: fc.oneof(
            value,
            fc.dictionary(ANNOTATION, fc.oneof(fc.constant('true'), fc.string())),
          ),
        }),
      ),
      spec: fc.oneof(
        value,
        fc.record({
          containers: fc.array(
            fc.oneof(
              value,
              fc.record({ name: value, ports: value, env: value, livenessProbe: value }),
            ),
          ),
          volumes: value,
          initContainers: value,
        }),
      ),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(pod, value),
      fc.oneof(fc.constant({}), fc.dictionary(REQUEST, value)),
      async (object, request) => {
        const { status, text } = await send(staged.port, JSON.stringify(reviewOf(object, request)))
        expect([200, 400, 500]).toContain(status)
        if (status !== 200) {
          expect(text.length).toBeGreaterThan(5)
          return
        }
        const { response } = JSON.parse(text) as {
          response: { allowed: boolean; patch?: string; status?: { message: string } }
        }
        if (!response.allowed) expect(response.status!.message.length).toBeGreaterThan(5)
        // Nobody asked and got no sidecar without a word.
        expect(response.allowed || response.patch === undefined).toBe(true)
      },
    ),
    { numRuns: rounds(40, 100) },
  )
  expect(await judge(staged.port, podOf(ASK))).toMatchObject({ allowed: true })
  expect(staged.lines.filter(({ level }) => level === 'error').map(({ err }) => err)).toEqual([])
})

test('memory for bodies is bounded across all connections', async () => {
  const head = `POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n`
  // A busy machine may receive so slowly that the first bodies are given up before all have come.
  await eventually(async () => {
    const sockets = await Promise.all(Array.from({ length: 12 }, handshake))
    const responses = sockets.map(readAll)
    for (const socket of sockets) socket.write(head + ' '.repeat(999_990))
    const codes = (await Promise.all(responses)).map((text) => text.slice(9, 12))
    return codes.includes('503') && codes.includes('408') ? undefined : codes.join()
  })
  await eventually(async () =>
    (await judge(staged.port, podOf(ASK))).allowed ? undefined : 'denied',
  )
})

const KEYS = fc.constantFrom(
  'name',
  'ports',
  'containerPort',
  'env',
  'metadata',
  '__proto__',
  'constructor',
  'annotations',
  'httpGet',
  'port',
  'image',
)
const ANNOTATION = fc.constantFrom(
  'squall.dev/inject',
  'squall.dev/ports',
  'squall.dev/mode',
  'squall.dev/status',
  'squall.dev/x',
  'other',
)
const REQUEST = fc.constantFrom(
  'uid',
  'namespace',
  'operation',
  'resource',
  'subResource',
  'dryRun',
  'object',
  'name',
)

async function handshake(): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: staged.port, ca: CA.cert })
  await once(socket, 'secureConnect')
  return socket
}

async function readAll(socket: TLSSocket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => (text += part))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}
