import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import type { Manifest } from '../deploy/manifest-problems.ts'

const DIRECTORY = new URL('golden/chart/', import.meta.url)
const DEPLOY = new URL('../../deploy/', import.meta.url)
const NEW = '(made anew each time)'

/** Returns the content of a golden file: objects by name, without random or separate parts. */
export function golden(manifests: readonly Manifest[], hasRandom: boolean): string {
  return manifests
    .map((each) => shortened(hasRandom ? withoutSecrets(each) : each))
    .sort((a, b) => keyOf(a).localeCompare(keyOf(b)))
    .map((each) => `---\n${stringify(each, { lineWidth: 0, aliasDuplicateObjects: false })}`)
    .join('')
}

/** The golden file of that name; with `UPDATE=1` it is written first. */
export function keptGolden(name: string, text: string): string {
  const file = new URL(`${name}.yaml`, DIRECTORY)
  if (process.env['UPDATE'] === '1') {
    mkdirSync(DIRECTORY, { recursive: true })
    writeFileSync(file, text)
  }
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`
}

function withoutSecrets(manifest: Manifest): Manifest {
  const text = JSON.stringify(manifest, (key, value: unknown) =>
    ['ca.crt', 'tls.crt', 'tls.key', 'caBundle'].includes(key) ? NEW : value,
  )
  return JSON.parse(text) as Manifest
}

/** Files of `deploy/` are named here and not repeated; each has to be the same as its source. */
function shortened(manifest: Manifest): Manifest {
  const [, name = ''] =
    /-(indicators|alerts|overview|rules|sidecar)$/.exec(manifest.metadata.name) ?? []
  if (manifest.kind === 'PrometheusRule') {
    return { ...manifest, spec: same(manifest['spec'], `prometheus/${name}.yml`) }
  }
  if (manifest.kind === 'ConfigMap' && manifest.metadata.name.includes('-dashboard-')) {
    const [[key, text] = ['', '']] = Object.entries(manifest['data'] as Record<string, string>)
    return { ...manifest, data: { [key]: same(parse(text), `chart/files/grafana/${name}.json`) } }
  }
  if (manifest.kind === 'Pod') {
    const file = 'chart/files/webhook-test.mjs'
    const script = readFileSync(new URL(file, DEPLOY), 'utf8')
    const kept = (_: string, value: unknown): unknown =>
      value === script ? `(deploy/${file})` : value
    return JSON.parse(JSON.stringify(manifest, kept)) as Manifest
  }
  return manifest
}

function same(value: unknown, path: string): string {
  const source: unknown = parse(readFileSync(new URL(path, DEPLOY), 'utf8'))
  return isDeepStrictEqual(value, source) ? `(deploy/${path})` : `(not what deploy/${path} is)`
}
