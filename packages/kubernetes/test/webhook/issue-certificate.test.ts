import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import {
  derInteger,
  derObject,
  derTime,
  createCa,
  issueServer,
} from '../../src/webhook/issue-certificate.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const FROM = new Date(Date.now() - 60_000)
const HOUR = { from: FROM, until: new Date(Date.now() + 3_600_000) }
const ca = createCa('squall-webhook', HOUR)

test('a serving certificate is what a TLS client accepts for each of its names, and for no other', async () => {
  const hosts = ['squall.chaos.svc', 'localhost', '127.0.0.1', '2001:db8::8:0:1'] as const
  const serving = issueServer(ca, hosts, HOUR)
  const read = new X509Certificate(serving.cert)
  expect(read.verify(new X509Certificate(ca.cert).publicKey)).toBe(true)
  expect(read.checkIssued(new X509Certificate(ca.cert))).toBe(true)
  expect(read.ca).toBe(false)
  expect(read.checkHost('squall.chaos.svc')).toBe('squall.chaos.svc')
  expect(read.checkHost('other.chaos.svc')).toBeUndefined()
  expect(read.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(read.checkIP('2001:db8::8:0:1')).toBeDefined()
  expect(new Date(read.validTo).getTime()).toBe(Math.floor(HOUR.until.getTime() / 1000) * 1000)

  const server = createServer({ cert: serving.cert, key: serving.key }, (socket) =>
    socket.end('hi'),
  )
  const { port, close } = await startUpstream(server)
  for (const servername of ['localhost', 'squall.chaos.svc']) {
    const socket = connect({ host: '127.0.0.1', port, ca: ca.cert, servername })
    await once(socket, 'secureConnect')
    expect(socket.authorized).toBe(true)
    socket.destroy()
  }
  const wrong = connect({ host: '127.0.0.1', port, ca: ca.cert, servername: 'other' })
  await expect(once(wrong, 'secureConnect')).rejects.toThrow(/altnames/)
  await close()
})

test('a CA may sign servers, and nothing below another CA', () => {
  const read = new X509Certificate(ca.cert)
  expect(read.ca).toBe(true)
  expect(read.verify(read.publicKey)).toBe(true)
  const directory = mkdtempSync(join(tmpdir(), 'squall-x509-'))
  try {
    const serving = issueServer(ca, ['squall.chaos.svc'], HOUR)
    writeFileSync(join(directory, 'ca.pem'), ca.cert)
    writeFileSync(join(directory, 'serving.pem'), serving.cert)
    // Another implementation has to agree, where there is one.
    const openssl = (...args: string[]): string =>
      execFileSync('openssl', args, { encoding: 'utf8', cwd: directory })
    expect(
      openssl(
        'verify',
        '-x509_strict',
        '-purpose',
        'sslserver',
        '-CAfile',
        'ca.pem',
        'serving.pem',
      ),
    ).toContain('serving.pem: OK')
    const text = openssl('x509', '-in', 'ca.pem', '-noout', '-text')
    expect(text).toContain('CA:TRUE, pathlen:0')
    expect(text).toContain('Certificate Sign, CRL Sign')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('numbers, names and times are encoded as the standard has them', () => {
  expect(derInteger(Buffer.from([0, 0, 0x80])).toString('hex')).toBe('02020080')
  expect(derInteger(Buffer.from([0])).toString('hex')).toBe('020100')
  expect(derObject('1.2.840.10045.4.3.2').toString('hex')).toBe('06082a8648ce3d040302')
  expect(derTime(new Date('2049-12-31T23:59:59.999Z')).subarray(2).toString()).toBe('491231235959Z')
  expect(derTime(new Date('2050-01-01T00:00:00Z')).subarray(2).toString()).toBe('20500101000000Z')
})

test('certificates for any names and times can be read again', () => {
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/)
  const host = fc.oneof(
    label,
    fc.array(label, { minLength: 1, maxLength: 4 }).map((l) => l.join('.')),
    fc.ipV4(),
    fc.ipV6(),
  )
  const days = fc.integer({ min: 0, max: 40_000 })
  fc.assert(
    fc.property(fc.array(host, { minLength: 1, maxLength: 20 }), days, (hosts, day) => {
      const until = new Date(FROM.getTime() + day * 86_400_000)
      const serving = issueServer(ca, hosts as [string, ...string[]], { from: FROM, until })
      const read = new X509Certificate(serving.cert)
      expect(read.subjectAltName?.split(', ')).toHaveLength(hosts.length)
      expect(Math.abs(new Date(read.validTo).getTime() - until.getTime())).toBeLessThan(1_000)
    }),
    { numRuns: 40 },
  )
})
