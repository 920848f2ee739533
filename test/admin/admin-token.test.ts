import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { bearerToken, readToken, tokenCheck } from '../../src/admin/admin-token.ts'
import { UsageError } from '../../src/base/flags/usage-error.ts'

const TOKEN = '0123456789abcdef'
const directories: string[] = []

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

function fileOf(content: string | Buffer): string {
  const directory = mkdtempSync(join(tmpdir(), 'squall-token-'))
  directories.push(directory)
  const path = join(directory, 'token')
  writeFileSync(path, content)
  return path
}

describe('the admin token', () => {
  it('is not set when nothing says so', () => {
    for (const env of [undefined, '', ' \n'])
      expect(readToken('admin token', undefined, { SQUALL_ADMIN_TOKEN: env })).toBe(undefined)
  })

  it('comes from the environment or a file, without the white space around it', () => {
    expect(readToken('admin token', undefined, { SQUALL_ADMIN_TOKEN: ` ${TOKEN}\n` })).toBe(TOKEN)
    expect(readToken('admin token', fileOf(`${TOKEN}\r\n`), {})).toBe(TOKEN)
    expect(readToken('admin token', fileOf(TOKEN), { SQUALL_ADMIN_TOKEN: 'too short' })).toBe(TOKEN)
  })

  it.each([
    'short-secret-15',
    'x'.repeat(513),
    'has spaces in the middle',
    'has\u0000a zero byte in it',
    'has-ünïcödé-in-it',
    'two-lines-of-it\ntwo-lines-of-it',
  ])('is refused as %j, and not shown', (secret) => {
    for (const { env, file } of [
      { env: { SQUALL_ADMIN_TOKEN: secret }, file: undefined },
      { env: {}, file: fileOf(secret) },
    ]) {
      const read = (): unknown => readToken('admin token', file, env)
      expect(read).toThrow(UsageError)
      expect(read).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining(secret) }),
      )
    }
  })

  it('is refused when its file is missing, empty, endless or no file', () => {
    const missing = join(tmpdir(), 'squall-no-such-token')
    for (const file of [missing, fileOf(''), '/dev/zero', tmpdir(), fileOf('x'.repeat(2 << 20))]) {
      expect(() => readToken('admin token', file, { SQUALL_ADMIN_TOKEN: TOKEN })).toThrow(
        UsageError,
      )
    }
  })

  it('is what a request must bear, and nothing like it', () => {
    const isToken = tokenCheck(TOKEN)
    const holds = (authorization: string | undefined): boolean =>
      isToken(bearerToken(authorization))
    expect(holds(`Bearer ${TOKEN}`)).toBe(true)
    for (const other of [undefined, '', TOKEN, `Bearer ${TOKEN}0`, `Bearer ${TOKEN.slice(1)}`]) {
      expect(holds(other)).toBe(false)
    }
  })
})
