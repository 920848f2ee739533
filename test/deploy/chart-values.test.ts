import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ANNOTATIONS } from '../../packages/kubernetes/src/injector/annotations.ts'

const CHART = new URL('../../deploy/chart/', import.meta.url)

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

function read(path: string): string {
  return readFileSync(new URL(path, CHART), 'utf8')
}

const schema = JSON.parse(read('values.schema.json')) as Schema
const values = parse(read('values.yaml')) as Record<string, unknown>

/** All keys that a schema names, with the objects between. */
function keysOf({ properties = {} }: Schema, prefix = ''): readonly string[] {
  return Object.entries(properties).flatMap(([key, each]) => [
    `${prefix}${key}`,
    ...keysOf(each, `${prefix}${key}.`),
  ])
}

function schemasOf(each: Schema): readonly Schema[] {
  return [each, ...Object.values(each.properties ?? {}).flatMap(schemasOf)]
}

describe('the chart', () => {
  it('is for the version of the program that it comes with', () => {
    const { version } = JSON.parse(read('../../package.json')) as { version: string }
    const chart = parse(read('Chart.yaml')) as Record<string, string>
    expect(chart['appVersion']).toBe(version)
    expect(read('../examples/load-job.yaml')).toContain(`image: squall:${version}\n`)
  })

  it('has a default and an explanation for each value, and a schema that knows no other', () => {
    const known = keysOf(schema).filter((key) => key !== 'global')
    const readme = read('README.md')
    for (const key of known) {
      const value = key
        .split('.')
        .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], values)
      // Values below one of Kubernetes' own objects, or below a free-form value, have no default.
      const isFree =
        /^(webhook\.resources|sidecar\.(defaults|resources)|certificates\.certManager\.issuerRef|validation\.policy)\./.test(
          key,
        )
      if (!isFree) expect(value, key).toBeDefined()
      const isLeaf = typeof value !== 'object' || value === null || Array.isArray(value)
      if (!isFree && isLeaf) expect(readme).toMatch(new RegExp(`\`${key}\` .*\\| .*\\w.* \\|`))
    }
    const unknown = Object.keys(values).filter((key) => !known.includes(key))
    expect(unknown).toEqual([])
  })

  it('takes every annotation that has defaults as a default for all pods', () => {
    const keys = ANNOTATIONS.filter(({ targets }) => targets.length === 2)
    const { properties = {} } = schema.properties!['sidecar']!.properties!['defaults']!
    expect(Object.keys(properties).sort()).toEqual(keys.map(({ key }) => key).sort())
  })

  it('allows nothing that its schema does not name', () => {
    const open = schemasOf(schema).filter(
      ({ properties, additionalProperties }) =>
        properties !== undefined && additionalProperties !== false,
    )
    expect(open).toEqual([])
  })

  it('has values of its own for each kind of certificate', () => {
    const modes = readdirSync(new URL('ci/', CHART)).join(' ')
    for (const mode of ['default', 'cert-manager', 'external', 'self-managed']) {
      expect(modes).toContain(`${mode}.yaml`)
    }
    expect(existsSync(new URL('../manifests/install.yaml', CHART))).toBe(true)
  })
})
