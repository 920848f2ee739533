import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { readTlsFiles, type UpstreamTls } from '../../../src/cli/run/run-tls.ts'
import { UsageError } from '../../../src/cli/flags/usage-error.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-tls-'))
afterAll(() => rmSync(directory, { recursive: true }))

const NONE: UpstreamTls = {
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  servername: undefined,
  insecure: false,
}
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))

function complaint(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof UsageError && error.code === 'BAD_FILE') return error.message
    throw error
  }
  throw new Error('nothing was refused')
}

describe('TLS files', () => {
  it('are read where they are named', () => {
    expect(readTlsFiles({ tls: undefined, upstreamTls: NONE })).toEqual({
      listener: undefined,
      upstream: { ca: undefined, cert: undefined, key: undefined },
    })
    const files = readTlsFiles({
      tls: { certFile: fixture('first.pem'), keyFile: fixture('first.key') },
      upstreamTls: {
        ...NONE,
        caFile: fixture('first.pem'),
        certFile: fixture('first.pem'),
        keyFile: fixture('first.key'),
      },
    })
    expect(files.listener?.cert.toString()).toContain('BEGIN CERTIFICATE')
    expect(files.upstream.key?.toString()).toContain('PRIVATE KEY')
    expect(files.upstream.ca).toEqual(files.listener?.cert)
  })

  it('that are missing, no files, endless or held open by nobody are refused at once', () => {
    const pipe = join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const [caFile, reason] of [
      [join(directory, 'missing'), 'ENOENT'],
      [directory, 'not a file'],
      [pipe, 'not a file'],
      ['/dev/zero', 'not a file'],
    ] as const) {
      const message = complaint(() =>
        readTlsFiles({ tls: undefined, upstreamTls: { ...NONE, caFile } }),
      )
      expect(message).toContain(`--upstream-ca: "${caFile}" cannot be read (${reason}`)
    }
  })

  it('that are not PEM, or do not fit together, are refused without showing what is in them', () => {
    const text = join(directory, 'text')
    writeFileSync(text, 'hunter2')
    const messages = [
      complaint(() => readTlsFiles({ tls: undefined, upstreamTls: { ...NONE, caFile: text } })),
      complaint(() =>
        readTlsFiles({ tls: { certFile: fixture('first.pem'), keyFile: text }, upstreamTls: NONE }),
      ),
      complaint(() =>
        readTlsFiles({
          tls: { certFile: fixture('first.pem'), keyFile: fixture('second.key') },
          upstreamTls: NONE,
        }),
      ),
    ]
    expect(messages[0]).toMatch(/^--upstream-ca: not usable /)
    expect(messages[1]).toMatch(/^--tls-cert and --tls-key: not usable /)
    expect(messages[2]).toMatch(/^--tls-cert and --tls-key: not usable /)
    expect(messages.join()).not.toContain('hunter2')
  })
})
