import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { checkTlsFiles } from '../../src/sidecar/run-tls.ts'
import { UsageError } from '../../src/base/flags/usage-error.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-tls-'))
afterAll(() => rmSync(directory, { recursive: true }))

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

function complaint(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof UsageError && error.code === 'INVALID_FILE') return error.message
    throw error
  }
  throw new Error('nothing was refused')
}

describe('TLS files', () => {
  it('are accepted where they match', () => {
    expect(() => checkTlsFiles({ listenTls: undefined, upstreamTls: {} })).not.toThrow()
    const pair = { cert: fixture('first.pem'), key: fixture('first.key') }
    const upstreamTls = { ca: fixture('first.pem'), ...pair }
    expect(() => checkTlsFiles({ listenTls: pair, upstreamTls })).not.toThrow()
  })

  it('that are missing, no files, endless or held open by nobody are refused at once', () => {
    const pipe = join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const [ca, reason] of [
      [join(directory, 'missing'), 'no such file or directory'],
      [directory, 'not a file'],
      [pipe, 'not a file'],
      ['/dev/zero', 'not a file'],
    ] as const) {
      const message = complaint(() => checkTlsFiles({ listenTls: undefined, upstreamTls: { ca } }))
      expect(message).toContain(`--upstream-ca: "${ca}" cannot be read (${reason}`)
    }
  })

  it('that are not PEM, or do not fit together, are refused without showing what is in them', () => {
    const text = join(directory, 'text')
    writeFileSync(text, 'hunter2')
    const messages = [
      complaint(() => checkTlsFiles({ listenTls: undefined, upstreamTls: { ca: text } })),
      complaint(() =>
        checkTlsFiles({ listenTls: { cert: fixture('first.pem'), key: text }, upstreamTls: {} }),
      ),
      complaint(() =>
        checkTlsFiles({
          listenTls: { cert: fixture('first.pem'), key: fixture('second.key') },
          upstreamTls: {},
        }),
      ),
    ]
    expect(messages[0]).toMatch(/^--upstream-ca: invalid PEM /)
    expect(messages[1]).toMatch(/^--tls-cert and --tls-key: invalid PEM /)
    expect(messages[2]).toMatch(/^--tls-cert and --tls-key: invalid PEM /)
    expect(messages.join()).not.toContain('hunter2')
  })
})
