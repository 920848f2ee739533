import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../scripts/release-image.sh', import.meta.url))
const IMAGE = 'registry.example.com:5000/tools/squall'
const DIGEST = `sha256:${'a1'.repeat(32)}`

interface Ran {
  readonly code: number
  readonly text: string
}

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'squall-release-'))
  // Whatever is called is written down, so that a dry run that calls it is seen.
  for (const name of ['docker', 'cosign', 'npm']) {
    const path = join(folder, name)
    await writeFile(path, `#!/bin/sh\necho "${name} $*" >>'${folder}/called'\n`)
    await chmod(path, 0o755)
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function release(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const path = `${folder}:${process.env['PATH']}`
  const options = {
    env: { ...process.env, ...env, PATH: path, RECORD: join(folder, 'image.env') },
  }
  return new Promise((resolve) => {
    execFile('sh', [SCRIPT, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: `${stdout}${stderr}` })
    })
  })
}

describe('a dry run of the release script', () => {
  it('prints the commands in order, and runs none', async () => {
    const { code, text } = await release(['--dry-run', IMAGE])
    expect(code).toBe(0)
    const commands = text.split('\n').filter((line) => line.startsWith('+ '))
    expect(commands.map((line) => line.split(' ').slice(1, 4).join(' '))).toEqual([
      'npm audit signatures',
      'docker buildx imagetools',
      'docker run --rm',
      'docker buildx build',
      'cosign sign --yes',
      'docker buildx build',
      'cosign sign --yes',
    ])
    const [, , , build = '', sign = '', full = ''] = commands
    expect(build).toMatch(/--build-arg BASE=node:\S+@<digest> --build-arg NFTABLES=<version>/)
    expect(build).toContain('--provenance=mode=max --sbom=true')
    expect(build).toMatch(/--target sidecar .* --tag \S+:\d+\.\d+\.\d+-sidecar --push/)
    expect(full).toMatch(/--target full .* --tag \S+:\d+\.\d+\.\d+ --push/)
    expect(sign).toBe(`+ cosign sign --yes ${IMAGE}@<digest>`)
    await expect(readFile(join(folder, 'called'))).rejects.toThrow('ENOENT')
  })

  it('keeps a base that has a digest, and signs with a key', async () => {
    const base = `mirror.example.com/node:24@${DIGEST}`
    const { text } = await release(['--dry-run', IMAGE], { BASE: base, COSIGN_KEY: 'squall.key' })
    expect(text).not.toContain('imagetools')
    expect(text).toContain(`--build-arg BASE=${base} `)
    expect(text).toContain(`cosign sign --yes --key squall.key ${IMAGE}@<digest>`)
  })

  it('builds again with what was recorded', async () => {
    const base = `node:24-bookworm-slim@${DIGEST}`
    await writeFile(join(folder, 'image.env'), `base='${base}'\nnftables='1.0.6-2'\n`)
    const { text } = await release(['--dry-run', IMAGE], { PIN: 'recorded' })
    expect(text).toContain(`--build-arg BASE=${base} --build-arg NFTABLES=1.0.6-2 `)
  })
})

describe('the release script refuses', () => {
  it.each([
    [[], 'usage: release-image.sh'],
    [[''], 'usage: release-image.sh'],
    [[`${IMAGE}:1`], 'has a tag or a digest'],
    [[`${IMAGE}@${DIGEST}`], 'has a tag or a digest'],
  ])('%j: %s', async (args, message) => {
    const { code, text } = await release(args)
    expect(code).toBe(2)
    expect(text).toContain(message)
  })
})

it('the Dockerfile takes what the script pins', async () => {
  const text = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8')
  expect(text).toMatch(/^ARG BASE=node:24\S*$/m)
  expect(text).toMatch(/^ARG NFTABLES$/m)
  expect(text).toContain('nftables${NFTABLES:+=$NFTABLES}')
})
