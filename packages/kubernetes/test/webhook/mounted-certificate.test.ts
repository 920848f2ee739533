// part: slow
import { once } from 'node:events'
import { connect } from 'node:tls'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCa, issueServer } from '../../src/webhook/issue-certificate.ts'
import { MountedCertificate } from '../../src/webhook/mounted-certificate.ts'
import { checkPair, ServingCertificate } from '../../src/webhook/serving-certificate.ts'
import { createWebhookMetrics } from '../../src/webhook/webhook-metrics.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import {
  CA,
  judge,
  lasting,
  mountPair,
  podOf,
  servingPair,
  type StagedWebhook,
} from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const opened = closers()

async function start(): Promise<StagedWebhook> {
  return opened(await startSquall({ webhook: {} }))
}

async function serialShown(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: CA.cert })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

async function shows(port: number, serial: string): Promise<void> {
  await eventually(async () => ((await serialShown(port)) === serial ? undefined : 'still another'))
}

test('each pair that kubelet swaps in is used from the next handshake on', async () => {
  const { port, mounted, metric } = await start()
  for (let i = 0; i < 4; i++) {
    const next = servingPair(3_600_000 + i * 60_000)
    await mounted.swap(next)
    await shows(port, checkPair(next).serial)
  }
  const { until } = checkPair(servingPair(3_600_000 + 3 * 60_000))
  const reported = await metric('squall_webhook_certificate_expiry_timestamp_seconds')
  expect(Math.abs(reported - until.getTime() / 1000)).toBeLessThan(30)
  expect(await metric('squall_webhook_certificate_changes_total', { result: 'swapped' })).toBe(5)
})

test('a bad pair is reported and never used, and the next good one is', async () => {
  const { port, mounted, metric, lines, ready } = await start()
  const first = await serialShown(port)
  const other = issueServer(createCa('other', lasting(60_000)), ['localhost'], lasting(60_000))
  const bad = [
    { cert: 'no certificate', key: 'no key' },
    { cert: servingPair().cert, key: other.key },
    { cert: '', key: '' },
    servingPair(-1_000),
  ]
  for (const [i, pair] of bad.entries()) {
    await mounted.swap(pair)
    await eventually(async () =>
      (await metric('squall_webhook_certificate_changes_total', { result: 'rejected' })) > i
        ? undefined
        : 'not refused yet',
    )
  }
  expect(await serialShown(port)).toBe(first)
  expect(await metric('squall_webhook_certificate_good')).toBe(0)
  expect((await ready()).status).toBe(200)
  const details = lines.filter(({ level }) => level === 'error').map(({ detail }) => String(detail))
  expect(details.join('\n')).toMatch(/PEM-encoded[^]*does not match[^]*it expired on/)
  expect(details.join('\n')).not.toContain('no key')
  const good = servingPair()
  await mounted.swap(good)
  await shows(port, checkPair(good).serial)
  expect(await metric('squall_webhook_certificate_good')).toBe(1)
})

test('files that are written one after the other count once they fit together', async () => {
  const { port, mounted, metric } = await start()
  const next = servingPair()
  const data = join(mounted.directory, '..data')
  await writeFile(join(data, 'tls.crt'), next.cert)
  await writeFile(join(data, 'tls.key'), next.key)
  await mounted.swap(next)
  await shows(port, checkPair(next).serial)
  expect(await metric('squall_webhook_certificate_good')).toBe(1)
})

test('an expired certificate is not ready', async () => {
  const staged = await start()
  expect(await staged.ready()).toEqual({
    status: 200,
    reason: 'listening with a valid certificate',
  })
  // Long enough to be taken up on a busy machine: an expired one would not be.
  const short = servingPair(3_000)
  await staged.mounted.swap(short)
  await eventually(async () =>
    (await staged.ready()).reason === 'the certificate has expired' ? undefined : 'still ready',
  )
  expect((await staged.ready()).status).toBe(503)
})

test('a directory without a certificate ends the start with a reason', async () => {
  const certificate = { kind: 'mounted', directory: '/nowhere' } as const
  await expect(startSquall({ webhook: { certificate } })).rejects.toThrow(
    /tls.crt and tls.key in \/nowhere .*no such file/,
  )
})

test('certificates rotate under load without a failed review', async () => {
  const { port, mounted } = await start()
  let failed = 0
  let asked = 0
  const until = performance.now() + 1_200
  const clients = Array.from({ length: 4 }, async () => {
    while (performance.now() < until || asked <= 30) {
      asked++
      await judge(port, podOf()).catch(() => failed++)
    }
  })
  const swaps = (async () => {
    let last = ''
    while (performance.now() < until - 200) {
      const next = servingPair()
      await mounted.swap(next)
      last = checkPair(next).serial
      await shows(port, last)
    }
    return last
  })()
  const [last] = await Promise.all([swaps, ...clients])
  expect(await serialShown(port)).toBe(last)
  expect({ failed }).toEqual({ failed: 0 })
  expect(asked).toBeGreaterThan(30)
})

test('a drain gives up readiness first, answers what is under way, and then ends', async () => {
  const staged = await startSquall({ webhook: { shutdownDelayMs: 3_000 } })
  const { port, webhook, ready } = staged
  const draining = webhook.drain()
  expect(await ready()).toEqual({ status: 503, reason: 'draining' })
  // Still taken, for API servers that have not heard of it.
  expect(await judge(port, podOf())).toMatchObject({ allowed: true })
  await draining
  await expect(judge(port, podOf())).rejects.toThrow(/ECONNREFUSED/)
  await staged.mounted.remove()
})

test('a new pair waits until API servers trust it, while the old one is good', async () => {
  const first = servingPair()
  const mounted = await mountPair(first)
  opened({ close: () => mounted.remove() })
  const quiet = (): void => undefined
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const certificate = new ServingCertificate(logger, createWebhookMetrics('test'), () => Date.now())
  const looks = { settleMs: 5, pollMs: 20, trustMs: 400 }
  opened(new MountedCertificate(mounted.directory, certificate, looks))
  expect(certificate.current?.cert).toBe(first.cert)
  const swapped = new Promise((resolve) => certificate.onSwap(resolve))
  const begun = performance.now()
  const next = servingPair()
  await mounted.swap(next)
  await swapped
  expect(certificate.current?.cert).toBe(next.cert)
  expect(performance.now() - begun).toBeGreaterThan(390)
})
