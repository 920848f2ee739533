import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applyRules, endProblem } from '../../src/redirect/nft.ts'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-nft-'))
})

afterAll(() => rm(directory, { recursive: true }))

/** Writes a program that stands in for nft. */
async function program(name: string, script: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

test('the rules reach nft unchanged, without a shell', async () => {
  const out = join(directory, 'out')
  const nft = await program("nft; echo 'oh no'", `echo "$@" >'${out}'; cat >>'${out}'`)
  await applyRules('table inet squall\n', nft)
  expect(await readFile(out, 'utf8')).toBe('-f -\ntable inet squall\n')
})

test('a missing program, or a file that is none, is reported', async () => {
  const none = applyRules('', 'no-such-nft')
  await expect(none).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'no-such-nft was not found; install nftables, or pass the path of nft with --nft',
  })
  await expect(applyRules('', directory)).rejects.toMatchObject({ code: 'CANNOT_START' })
})

test('a program that hangs is killed', async () => {
  const nft = await program('slow', 'exec sleep 30')
  await expect(applyRules('', nft, 50)).rejects.toMatchObject({ code: 'TIMED_OUT' })
})

test('a program that reads nothing and writes without end takes no memory', async () => {
  const nft = await program('loud', 'head -c 3000000 /dev/zero | tr "\\0" x >&2; exit 1')
  const error = await applyRules('x'.repeat(1_000_000), nft).catch((reason: unknown) => reason)
  expect((error as Error).message.length).toBeLessThan(400)
})

describe('messages of nft become next steps', () => {
  test.each([
    ['netlink: Error: cache initialization failed: Operation not permitted', 'NOT_ALLOWED'],
    ['Operation not permitted (you must be root)', 'NOT_ALLOWED'],
    ['/dev/stdin:1:1-2: Error: Could not process rule: Operation not supported', 'NOT_SUPPORTED'],
    ['Error: Could not process rule: No such file or directory\nchain x {', 'NOT_SUPPORTED'],
    ['netlink: Error: cache initialization failed: Invalid argument', 'NOT_SUPPORTED'],
    ['/dev/stdin:1:1-2: Error: syntax error, unexpected newline', 'REJECTED'],
    ['', 'REJECTED'],
  ])('%s', (stderr, code) => {
    expect(endProblem(stderr)).toMatchObject({ code })
  })
})
