import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManifestError, readManifest } from '../../packages/kubernetes/src/manifests/manifest.ts'
import { readInjectorSettings } from '../../packages/kubernetes/src/cli/injector-settings.ts'
import { parseCalls } from '../../packages/experiments/src/load/calls-file.ts'
import { assertShallow } from '../../packages/kubernetes/src/kube/yaml-depth.ts'

const flow = (depth: number): string => `a: ${'['.repeat(depth)}${']'.repeat(depth)}\n`
const blocks = (depth: number): string =>
  Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}a:\n`).join('')

describe('YAML that is nested too deeply', () => {
  let file = ''
  beforeAll(async () => {
    file = join(await mkdtemp(join(tmpdir(), 'squall-deep-')), 'deep.yaml')
    await writeFile(file, flow(20_000))
  })
  afterAll(() => rm(join(file, '..'), { recursive: true }))

  it.each([flow(190), blocks(190), flow(3).repeat(1)])(
    'is distinguished from shallow text',
    (text) => {
      expect(() => assertShallow(text)).not.toThrow()
    },
  )

  it.each([flow(1000), flow(100_000), blocks(1000)])('is refused with its line', (text) => {
    expect(() => assertShallow(`x: 1\n${text}`)).toThrow(/^line \d+ is nested more than 200 levels/)
  })

  it('is refused in manifests, with its line in the file', () => {
    const text = `kind: A\n---\n# a\nkind: B\n${flow(5000)}`
    expect(() => readManifest(text, 'm.yaml')).toThrow(ManifestError)
    expect(() => readManifest(text, 'm.yaml')).toThrow('m.yaml:5: nested more than 200 levels deep')
  })

  it('is refused in settings and calls', async () => {
    const refused = /nested more than 200 levels/
    await expect(readInjectorSettings(file)).rejects.toThrow(refused)
    expect(() => parseCalls(flow(5000))).toThrow(/nested too deeply/)
  })
})
